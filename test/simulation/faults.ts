import { REFUSALS, type Refusal } from './own-redis.ts'
import { type Mood, StandInProvider } from './provider.ts'
import type { StandInReceiver } from './receiver.ts'
import type { Process, World } from './world.ts'

export type Fault =
  | 'answer lost'
  | 'step again'
  | 'late'
  | 'write late'
  | 'death'
  | 'provider answer lost'
  | 'provider away'
  | 'time jump'
  | 'failover'
  | 'clock apart'
  | 'clock far apart'
  | 'clock hours apart'
  | 'clock of Redis'
  | 'clock of Redis hours ahead'
  | 'writes refused'
  | 'provider mood'
  | 'provider refuses'
  | 'receiver mood'

/** What a fault does to time and to Redis. */
export interface Outside {
  move(ms: number): Promise<void>
  /** What is stored under names like these is what it was then, so many calls from now. */
  loseWrites(calls: number): Promise<boolean>
  /** For so many calls. */
  refuseWrites(why: Refusal, calls: number): Promise<boolean>
  provider: StandInProvider
  receivers: readonly StandInReceiver[]
}

/** Each says whether there was anything to do it to. */
export const FAULTS: Record<Fault, (world: World, outside: Outside) => Promise<boolean>> = {
  /** The steps are done, the connection breaks, and after it is back they are asked for once more. */
  'answer lost': async (world) => {
    const process = oneOf(world, ({ isCut, store }) => !isCut && store.length > 0)
    if (process === undefined) return false
    const lost = process.store.slice(0, 1 + world.dice.below(3))
    for (const call of lost) await world.runOnce(process, call)
    process.isCut = true
    world.noteFault('answer lost', `${process.name} ${lost.map(({ label }) => label).join(', ')}`)
    return true
  },
  /** The same of one step that writes: the connection is back at once, or away for long. */
  'step again': async (world) => {
    const process = oneOf(world, isAboutToWrite)
    const [first] = process?.store ?? []
    if (process === undefined || first === undefined) return false
    await world.runOnce(process, first)
    process.isCut = true
    process.isCutForLong = world.dice.chance(0.5)
    world.noteFault('step again', `${process.name} ${first.label}`)
    if (!process.isCutForLong) world.connect(process)
    return true
  },
  late: async (world) => {
    const process = oneOf(world, ({ isCut, store }) => !isCut && store.length > 0)
    if (process === undefined) return false
    process.isCut = true
    process.isCutForLong = world.dice.chance(0.3)
    world.noteFault('late', `${process.name} ${process.store.map(({ label }) => label).join(', ')}`)
    return true
  },
  'write late': async (world) => {
    const process = oneOf(world, isAboutToWrite)
    if (process === undefined) return false
    process.isCut = true
    process.isCutForLong = true
    world.noteFault('write late', `${process.name} ${process.store[0]?.label}`)
    return true
  },
  /** What it asked for may have been done before it died. */
  death: async (world) => {
    const process = oneOf(world, () => world.living.length > 1)
    if (process === undefined) return false
    const done = [
      ...process.store.slice(0, world.dice.below(3)),
      ...process.provider.filter(() => world.dice.chance(0.5)),
    ]
    for (const call of done) await world.runOnce(process, call)
    world.kill(process)
    world.noteFault('death', `${process.name}, done before: ${done.map(({ label }) => label).join(', ') || 'nothing'}`)
    return true
  },
  'provider answer lost': (world) => breakCall(world, true),
  'provider away': (world) => breakCall(world, false),
  'time jump': async (world, { move }) => {
    const ms = world.dice.pick([-600_000, -60_000, 60_000, 600_000, 3_600_000])
    world.noteFault('time jump', `${ms / 1_000} s`)
    await move(ms)
    return true
  },
  /** As far as clocks of daemons may differ. */
  'clock apart': async (world) => setClock(world, [-2_400, 2_400]),
  'clock far apart': async (world) => setClock(world, [-900_000, -60_000, 60_000, 900_000]),
  'clock hours apart': async (world) => setClock(world, HOURS_APART),
  'clock of Redis': async (world) => setRedisClock(world, 'clock of Redis', [-600_000, -10_000, 10_000, 600_000]),
  /** What is planned by it would be due hours later, once it is right again. */
  'clock of Redis hours ahead': async (world) =>
    setRedisClock(world, 'clock of Redis hours ahead', [3_600_000, 21_600_000]),
  'writes refused': (world, outside) => outside.refuseWrites(world.dice.pick(REFUSALS), 1 + world.dice.below(40)),
  /** Until it has another one. */
  'provider mood': async (world, outside) =>
    setMood(world, outside, ['throttles', 'refuses the app', 'deletes nothing', 'well']),
  /** What the breaker and the pace of the token endpoint are for. */
  'provider refuses': async (world, outside) =>
    setMood(world, outside, ['throttles', 'refuses the app', 'refuses tokens', 'refuses tokens', 'well']),
  'receiver mood': async (world, { receivers }) => {
    const receiver = world.dice.pick(receivers)
    receiver.mood = world.dice.pick(['away', 'busy', 'gone', 'well', 'well'] as const)
    world.noteFault('receiver mood', `${receiver.name} ${receiver.mood}`)
    return true
  },
  /** A replica that is behind becomes the master. */
  failover: (world, outside) => outside.loseWrites(1 + world.dice.below(20)),
}

export const HOURS_APART = [-6, -1, 1, 6].map((hours) => hours * 3_600_000)

const WRITES =
  /^(connect|import|begin|store|finish|purge|park|forget|take|record|commit|settle|tell|move|retire|report|multi)/

function isAboutToWrite({ isCut, store: [first] }: Process): boolean {
  return !isCut && first !== undefined && WRITES.test(first.label)
}

function oneOf(world: World, fits: (process: Process) => boolean): Process | undefined {
  const found = world.living.filter(fits)
  return found.length === 0 ? undefined : world.dice.pick(found)
}

function setClock(world: World, aheadMs: readonly number[]): boolean {
  const process = oneOf(world, () => true)
  if (process === undefined) return false
  process.aheadMs = world.dice.pick(aheadMs)
  world.noteFault('clock apart', `${process.name} ${process.aheadMs / 1_000} s`)
  return true
}

function setMood(world: World, { provider }: Outside, moods: readonly Mood[]): boolean {
  provider.mood = world.dice.pick(moods)
  world.noteFault('provider mood', provider.mood)
  return true
}

async function breakCall(world: World, isDone: boolean): Promise<boolean> {
  const process = oneOf(world, ({ provider }) => provider.length > 0)
  if (process === undefined) return false
  const call = world.dice.pick(process.provider)
  if (isDone) await world.runOnce(process, call)
  process.provider.splice(process.provider.indexOf(call), 1)
  world.noteFault(isDone ? 'provider answer lost' : 'provider away', `${process.name} ${call.label}`)
  call.answer(StandInProvider.lost)
  await world.settle()
  return true
}

function setRedisClock(world: World, fault: Fault, ahead: readonly number[]): boolean {
  world.redisAheadMs = world.dice.pick(ahead)
  world.noteFault(fault, `${world.redisAheadMs / 1_000} s`)
  return true
}
