import type { Store } from '../../src/redis/connect.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { createVault } from '../../src/tokens/vault.ts'
import { shortenLease } from '../support/accounts.ts'
import { ageWriters, type Daemon, KEEP_MS, type Scene, startDaemon } from './daemon.ts'
import { FAULTS, type Outside } from './faults.ts'
import { type Intents, judge, judgeAlerts, judgeKeys, type Stored, type Violation } from './judge.ts'
import type { Actor, Mix } from './mixes.ts'
import { HUBS } from './partitions.ts'
import { StandInProvider } from './provider.ts'
import { StandInReceiver } from './receiver.ts'
import { NEW_KEY, OLD_KEY } from './rekey-parts.ts'
import { restore, type Snapshot, takeSnapshot } from './simulated-store.ts'
import { World } from './world.ts'

const DAEMONS = 3
const ACTORS = 12
/** The way of an alert is long. */
const ACTORS_OF_ALERTS = 16
const MOST_FAULTS = 4
/** No replica is behind by more. */
const LAG_MS = 10_000
/** Rounds of sweeps after which all must have come to its end. */
const MOST_ROUNDS = 60

export interface Run {
  violations: Violation[]
  schedule: string[]
  faults: Record<string, number>
}

/** One run: things happen and go wrong as the seed says, then everything heals and comes to its end, and is judged. */
export async function simulate(real: Store, mix: Mix, seed: number): Promise<Run> {
  await real.flushdb()
  const run = new Simulation(real, mix, seed)
  if (mix.connected === true) await run.connectAll()
  await run.goWrong()
  const isStuck = !(await run.heal())
  const violations = await judge(run.scene, HUBS, run.intents, run.stored)
  if (mix.alerts === true) violations.push(...(await judgeAlerts(run.scene, HUBS, mix.loses === true)))
  violations.push(...run.keyTroubles)
  if (isStuck) violations.push({ what: 'something never comes to its end', hubId: 0 })
  return { violations, schedule: run.scene.world.schedule, faults: run.scene.world.faults }
}

class Simulation {
  readonly scene: Scene
  readonly intents: Intents = new Map()
  readonly stored: Stored = new Map()
  /** What was found when a rekey said that it is done. */
  readonly keyTroubles: Violation[] = []
  #isRekeyed = false
  #commands = 0
  readonly #mix: Mix
  readonly #daemons: Daemon[]
  /** Accounts that a daemon is about to connect: a customer does one thing at a time. */
  readonly #granting = new Map<number, Daemon>()
  readonly #outside: Outside = {
    move: (ms) => this.#move(ms),
    loseWrites: (calls, of) => this.#loseWrites(calls, of),
  }
  /** What a replica has, that becomes the master in so many calls. */
  #behind: { snapshot: Snapshot; calls: number; leftMs: number } | undefined

  constructor(real: Store, mix: Mix, seed: number) {
    // An alert is known by the ms in which it opened: none opens twice in one.
    const world = new World(seed, mix.alerts === true ? 1 : 0)
    this.#mix = mix
    this.scene = {
      ...{ world, real, keys: createKeys('s') },
      vault: createVault([NEW_KEY, OLD_KEY]),
      config: { keys: [OLD_KEY, NEW_KEY], rekeys: mix.rekeys === true },
      provider: new StandInProvider(world.dice.pick(mix.rotations)),
      ...{ receiver: new StandInReceiver(), jobs: [] },
      watch: (step, hubId, answer) => this.#watch(step, hubId, answer),
    }
    world.note(`the provider's refresh tokens: ${this.scene.provider.rotation}`)
    this.#daemons = Array.from({ length: DAEMONS }, (_, n) => startDaemon(this.scene, `d${n + 1}`))
  }

  async connectAll(): Promise<void> {
    for (const hubId of HUBS) await this.#finish(this.#work(this.#newDaemon(), 'connect', hubId, this.scene.provider))
  }

  async goWrong(): Promise<void> {
    const { world, jobs } = this.scene
    const { dice } = world
    let toBegin = this.#mix.alerts === true ? ACTORS_OF_ALERTS : ACTORS
    let faultsLeft =
      this.#mix.faults.length === 0 ? 0 : 1 + dice.below(this.#mix.alerts === true ? 2 * MOST_FAULTS : MOST_FAULTS)
    for (;;) {
      for (const process of world.living) if (process.isCut && dice.chance(0.04)) world.connect(process)
      const { pending } = world
      if (jobs.length > 0 && dice.chance(0.2)) {
        await this.#deliver()
      } else if (toBegin > 0 && dice.chance(pending.length === 0 ? 0.9 : 0.15)) {
        toBegin--
        await this.#begin(dice.pick(this.#mix.actors))
      } else if (faultsLeft > 0 && dice.chance(0.08)) {
        if (await FAULTS[dice.pick(this.#mix.faults)](world, this.#outside)) faultsLeft--
      } else if (dice.chance(0.05)) {
        await this.#move(dice.pick([1_000, 5_000, 60_000, 1_200_000]))
      } else if (pending.length > 0) {
        await world.perform(dice.pick(pending))
        await this.#failOver()
        await this.#judgeRekeyed('when a rekey is done')
      } else if (toBegin === 0) {
        return
      }
    }
  }

  /** Whether all came to its end. */
  async heal(): Promise<boolean> {
    const { world } = this.scene
    world.note('EVERYTHING HEALS')
    this.#behind = undefined
    for (const process of world.living) world.connect(process)
    // Before anybody looks whether there is more to do. Who waits to try again does so.
    await this.#finish(world.settle())
    for (let round = 0; round < MOST_ROUNDS && world.living.some(({ sleepers }) => sleepers.length > 0); round++) {
      await this.#move(1_000)
      await this.#finish(world.settle())
    }
    const last = startDaemon(this.scene, 'last')
    if (this.#mix.alerts === true) return this.#tellAll(last)
    const until = world.now + KEEP_MS + 3_600_000
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const next = await this.#finish(last.sweep())
      if (next === undefined || next > until) return this.#mix.rekeys !== true || this.#rekeyInTheEnd(last)
      await this.#move(Math.max(1_000, next - world.now))
    }
    return false
  }

  /** Whether all accounts could be polled, and all that was committed came to its end. */
  async #tellAll(last: Daemon): Promise<boolean> {
    const { world, jobs } = this.scene
    for (const hubId of HUBS) if (!(await this.#pollInTheEnd(last, hubId))) return false
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const next = await this.#finish(last.sweepAlerts())
      const isIdle = jobs.length === 0
      await this.#finish(Promise.all(jobs.splice(0).map((job) => last.deliver(job))))
      if (next === undefined && isIdle) return true
      await this.#move(Math.max(10_000, (next ?? 0) - world.now))
    }
    return false
  }

  /** A command that was begun with the config from before. */
  #command(): Daemon {
    return startDaemon(this.scene, `c${++this.#commands}`, [OLD_KEY, NEW_KEY])
  }

  async #import(daemon: Daemon, hubId: number, refreshToken: string): Promise<unknown> {
    const outcome = await daemon.import(hubId, refreshToken)
    if (!this.#daemons.includes(daemon)) {
      await daemon.leave()
      this.scene.world.kill(daemon.process)
    }
    return outcome
  }

  #reloadAll(): Promise<unknown> {
    this.scene.config.keys = [NEW_KEY, OLD_KEY]
    const living = this.#daemons.filter(({ process }) => process.isAlive)
    return Promise.all(living.map((daemon) => daemon.reload()))
  }

  async #rekey(daemon: Daemon): Promise<unknown> {
    const rekeyed = await daemon.rekey()
    if (rekeyed.is === 'clean') this.#isRekeyed = true
    return rekeyed
  }

  /** Whether it can be brought to its end once all daemons have the new key first. */
  async #rekeyInTheEnd(last: Daemon): Promise<boolean> {
    this.#isRekeyed = true
    await this.#judgeRekeyed('later')
    await this.#finish(Promise.all([this.#reloadAll(), last.reload()]))
    await this.#finish(this.#rekey(last))
    const isDone = this.#isRekeyed
    await this.#judgeRekeyed('in the end')
    return isDone
  }

  async #judgeRekeyed(when: string): Promise<void> {
    if (!this.#isRekeyed) return
    this.#isRekeyed = false
    this.keyTroubles.push(...(await judgeKeys(this.scene, HUBS, when)))
  }

  /** Whether it could be polled: its token may have to be refreshed before. */
  async #pollInTheEnd(last: Daemon, hubId: number): Promise<boolean> {
    for (let round = 0; round < MOST_ROUNDS; round++) {
      await this.#move(60_000)
      await this.#finish(last.sweep())
      if ((await this.#finish(last.poll(hubId))) === 'committed') return true
    }
    return false
  }

  async #begin(actor: Actor): Promise<void> {
    const { world, provider } = this.scene
    let daemon = this.#anyDaemon()
    const hubId = world.dice.pick(HUBS)
    if (actor === 'connect' || actor === 'import') {
      if (this.#mix.crossing !== true && this.#granting.get(hubId)?.process.isAlive === true) return
      if (this.#mix.rekeys === true && actor === 'import') daemon = this.#command()
      this.#granting.set(hubId, daemon)
    }
    world.note(`${daemon.process.name} BEGINS to ${actor} ${hubId}`)
    this.#toEnd(daemon, actor, hubId, this.#work(daemon, actor, hubId, provider))
    await world.settle()
  }

  /** Somebody makes properties, or deletes some. */
  #use(hubId: number): void {
    const { world, provider } = this.scene
    const usage = world.dice.pick([500, 850, 970])
    provider.usage.set(hubId, usage)
    world.note(`${hubId} USES ${usage}`)
  }

  /** Some daemon takes a job. It may be done twice: whoever took it may have been taken for dead. */
  async #deliver(): Promise<void> {
    const { world, jobs } = this.scene
    const job = world.dice.pick(jobs)
    if (world.dice.chance(0.8)) jobs.splice(jobs.indexOf(job), 1)
    const daemon = this.#anyDaemon()
    world.note(`${daemon.process.name} DELIVERS ${job}`)
    void daemon.deliver(job)
    await world.settle()
  }

  #work(daemon: Daemon, actor: Actor, hubId: number, provider: StandInProvider): Promise<unknown> {
    switch (actor) {
      case 'connect':
        return daemon.connect(hubId, provider.authorize(hubId))
      case 'import':
        return this.#import(daemon, hubId, provider.grant(hubId))
      case 'refresh':
        return daemon.refresh([hubId])
      case 'refresh now':
        return daemon.refreshNow(hubId)
      case 'uninstall':
        return daemon.beginUninstall(hubId)
      case 'run uninstall':
        return daemon.runUninstall([hubId])
      case 'sweep':
        return daemon.sweep()
      case 'reload':
        return this.#reloadAll()
      case 'rekey':
        return this.#rekey(daemon)
      case 'poll':
        if (this.scene.world.dice.chance(0.6)) this.#use(hubId)
        return daemon.poll(hubId)
      case 'sweep alerts':
        return daemon.sweepAlerts()
    }
  }

  #toEnd(daemon: Daemon, actor: Actor, hubId: number, work: Promise<unknown>): void {
    const { world } = this.scene
    const end = (what: string) => {
      if (actor === 'connect' || actor === 'import') this.#granting.delete(hubId)
      world.note(`${daemon.process.name} ended to ${actor} ${hubId}: ${what}`)
    }
    work.then(
      (outcome) => end((outcome as { is?: string } | undefined)?.is ?? String(outcome)),
      (error: unknown) => end(String(error)),
    )
  }

  #anyDaemon(): Daemon {
    const living = this.#daemons.filter(({ process }) => process.isAlive)
    return living.length === 0 ? this.#newDaemon() : this.scene.world.dice.pick(living)
  }

  #newDaemon(): Daemon {
    const daemon = startDaemon(this.scene, `d${this.#daemons.length + 1}`)
    this.#daemons.push(daemon)
    return daemon
  }

  /** What is pending is done, in any order, until the work is. */
  async #finish<T>(work: Promise<T>): Promise<T> {
    const { world } = this.scene
    let isDone = false
    const done = work.finally(() => {
      isDone = true
    })
    for (;;) {
      const { pending } = world
      if (pending.length > 0) await world.perform(world.dice.pick(pending))
      else await world.settle()
      if (world.pending.length > 0) continue
      if (isDone) return done
      if (world.living.some(({ sleepers }) => sleepers.length > 0)) await this.#move(1_000)
      else throw new Error('nobody is at work, and the work is not done')
    }
  }

  async #loseWrites(calls: number, of: string): Promise<boolean> {
    if (this.#behind !== undefined) return false
    this.#behind = { snapshot: await takeSnapshot(this.scene.real, of), calls, leftMs: LAG_MS }
    this.scene.world.note(`a replica is behind, by ${calls} calls in the end`)
    return true
  }

  /** Connections to where the accounts are break with it. */
  async #failOver(): Promise<void> {
    const { world, real } = this.scene
    if (this.#behind === undefined || (--this.#behind.calls > 0 && this.#behind.leftMs >= 0)) return
    const { snapshot } = this.#behind
    this.#behind = undefined
    await restore(real, snapshot)
    world.noteFault('failover', 'the writes since are lost')
    if (snapshot.of === '*') for (const process of world.living) process.isCut = true
  }

  /** Leases in Redis end by its own clock: they are made shorter by as much. */
  async #move(ms: number): Promise<void> {
    const { world, real, keys } = this.scene
    if (this.#behind !== undefined && ms > 0) {
      this.#behind.leftMs -= ms
      if (this.#behind.leftMs < 0) await this.#failOver()
    }
    world.note(`TIME moves by ${ms / 1_000} s`)
    if (ms > 0) {
      for (const hubId of HUBS) await shortenLease(real, keys, hubId, ms)
    }
    if (ms > 0 && this.#mix.rekeys === true) await ageWriters(real, keys, ms)
    await world.move(ms)
  }

  /** What people wanted of an account last is what counts, as of the first time that a step did it. */
  #watch(step: string, hubId: number, answer: unknown): void {
    const isConnected = ['connected', 'reconnected', 'imported', 'replaced'].includes(String(answer))
    if ((step === 'connectAccount' || step === 'importAccount') && isConnected) this.intents.set(hubId, 'connected')
    if (step === 'storeTokens') this.stored.set(hubId, String(answer))
    if (step === 'beginUninstall' && answer === 'begun') this.intents.set(hubId, 'uninstalled')
  }
}
