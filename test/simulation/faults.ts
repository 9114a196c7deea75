import { StandInProvider } from './provider.ts'
import type { Process, World } from './world.ts'

export type Fault =
  | 'answer lost'
  | 'late'
  | 'death'
  | 'provider answer lost'
  | 'provider away'
  | 'time jump'
  | 'failover'
  | 'failover of deliveries'

/** What a fault does to time and to Redis. */
export interface Outside {
  move(ms: number): Promise<void>
  /** What is stored under names like these is what it was then, so many calls from now. */
  loseWrites(calls: number, of: string): Promise<boolean>
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
  late: async (world) => {
    const process = oneOf(world, ({ isCut, store }) => !isCut && store.length > 0)
    if (process === undefined) return false
    process.isCut = true
    world.noteFault('late', `${process.name} ${process.store.map(({ label }) => label).join(', ')}`)
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
  /** A replica that is behind becomes the master. */
  failover: (world, outside) => outside.loseWrites(1 + world.dice.below(20), '*'),
  /** The same of the node of a Cluster that has groups, deliveries and the ledger. */
  'failover of deliveries': (world, outside) => outside.loseWrites(1 + world.dice.below(60), '*:{delivery}:*'),
}

function oneOf(world: World, fits: (process: Process) => boolean): Process | undefined {
  const found = world.living.filter(fits)
  return found.length === 0 ? undefined : world.dice.pick(found)
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
