import { existsSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Store } from '../../src/redis/connect.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { type Daemon, KEEP_MS, type Scene, startDaemon } from './daemon.ts'
import { FAULTS, HOURS_APART, type Outside } from './faults.ts'
import { Intents } from './intents.ts'
import { judge, judgeAccess, judgeAlerts, judgeKeys, keptTokens, type StoreAnswers, type Violation } from './judge.ts'
import type { Actor, Mix } from './mixes.ts'
import { type Refusal, refuseWrites, setRedisClock, takeWrites } from './own-redis.ts'
import { StandInProvider } from './provider.ts'
import { StandInReceiver } from './receiver.ts'
import { NEW_KEY, OLD_KEY } from './rekey-parts.ts'
import { unseedCrypto } from './seeded.ts'
import { type DoneStep, restore, type Snapshot, takeSnapshot } from './simulated-store.ts'
import { NAMES, Stored } from './stored.ts'
import { Hangs, type Process, World } from './world.ts'

const DAEMONS = 3
const ACTORS = 12
/** The way of an alert is long. */
const ACTORS_OF_ALERTS = 16
const MOST_FAULTS = 4
/** How long a worker has an account, or a grant, and the time that must be left of it for a call. */
const CLAIMS_MS = { account: 25_000 - 10_000, grant: 60_000 - 15_000 }
/** One that reported so lately runs. */
const HEARD_MS = 35_000
/** So many accounts that are refused are a trouble of all. */
const LEAST_ALIKE = 3
/** By then all daemons know it. */
const CALLS_UNTIL_KNOWN = 300
/** A permit from before that is older is used for no call. */
const PERMITTED_MS = 1_000
/** While all are refused one account is tried, and after so long another one. Calls that were late go beside it. */
const NEXT_TRIED_MS = 5_000
const MOST_TRIED = 3
/** Of a daemon that is killed after so many. */
const MOST_CALLS_OF_A_LIFE = 25
/** Of a run that goes round in circles. */
const SHOWN_OF_HANGING = 600
/** The accounts of a run. */
const HUBS = [65, 130]
/** So many that what all of them have is a mass. */
const MANY_HUBS = [65, 129, 193, 130, 194, 258]
/** No replica is behind by more. */
const LAG_MS = 10_000
/** Rounds of sweeps after which all must have come to its end: a grant is tried three times a minute, for an hour. */
const MOST_ROUNDS = 240
/** Once all is well nothing waits for longer, however often it failed before, and however far the clock jumped back. */
const LONGEST_WAIT_MS = 2_400_000

export interface Run {
  violations: Violation[]
  schedule: string[]
  faults: Record<string, number>
}

/** One run: things happen and go wrong as the seed says, then everything heals and comes to its end, and is judged. */
export async function simulate(real: Store, mix: Mix, seed: number): Promise<Run> {
  await real.flushdb()
  const run = new Simulation(real, mix, seed)
  try {
    if (mix.connected === true) await run.connectAll()
    await run.goWrong()
    const isStuck = !(await run.heal())
    const violations = await judge(run, mix)
    if (mix.alerts === true) violations.push(...(await judgeAlerts(run.scene, run.hubs, mix)))
    violations.push(...run.troubles)
    if (isStuck) violations.push({ what: 'something never comes to its end', hubId: 0 })
    return { violations, schedule: run.scene.world.schedule, faults: run.scene.world.faults }
  } catch (error) {
    if (!(error instanceof Hangs)) throw error
    const { schedule, faults } = run.scene.world
    return { violations: [{ what: 'it hangs', hubId: 0 }], schedule: schedule.slice(0, SHOWN_OF_HANGING), faults }
  } finally {
    await run.endRefusal()
    unseedCrypto()
    rmSync(run.scene.folder, { recursive: true, force: true })
  }
}

class Simulation {
  readonly scene: Scene
  readonly intents = new Intents()
  readonly storeAnswers: StoreAnswers = new Map()
  readonly hubs: readonly number[]
  /** What was found on the way. */
  readonly troubles: Violation[] = []
  /** When each account was polled, by the last poll that was committed, and those that were since. */
  readonly #polledAt = new Map<number, number>()
  readonly #polled = new Set<number>()
  /** Those that were polled since all was healed. */
  readonly #polledInTheEnd = new Set<number>()
  /** The grant that each account's refresh token comes of, and those whose token was written since, by which step. */
  readonly #grants = new Map<number, number>()
  readonly #written = new Map<number, string>()
  /** When each process claimed an account last, or a grant, by the steady clock. */
  readonly #claimedAt = new Map<string, number>()
  readonly #givenUp = new Set<number>()
  /** Silences that somebody ended. */
  readonly #silencesEnded = new Set<string | undefined>()
  /** The key that each process reported last, and when. */
  readonly #keysReported = new Map<unknown, { keyId: string; lastSeenAt: number; at: number }>()
  /** Receivers whose states were written since. */
  readonly #sentTo = new Set<string>()
  #isRekeyed = false
  /** By the processes that are at it: when it began, by the steady clock, and by which moment it last told who writes. */
  readonly #rekeys = new Map<string, { begunAt: number; judgedAt: number }>()
  /** All are refused: since which call, since when by the steady clock, and which accounts were tried since. */
  #trouble: { calls: number; at: number; tried: { hubId: number; at: number }[] } | undefined
  #commands = 0
  readonly #mix: Mix
  readonly #callsOfALife: number
  readonly #daemons: Daemon[]
  /** Accounts that a daemon is about to connect: a customer does one thing at a time. */
  readonly #granting = new Map<number, Daemon>()
  readonly #outside: Outside
  /** What a replica has, that becomes the master in so many calls. */
  #behind: { snapshot: Snapshot; calls: number; leftMs: number } | undefined
  /** For how many calls more Redis takes no write. */
  #refusedFor: number | undefined

  constructor(real: Store, mix: Mix, seed: number) {
    // An alert is known by the ms in which it opened: none opens twice in one.
    const world = new World(seed, 1, (redisNow) => {
      // It is there before what is asked next, over the same connection.
      if (this.#refusedFor === undefined) void setRedisClock(real, redisNow)
    })
    const { dice } = world
    this.#mix = mix
    this.#callsOfALife = 1 + (seed % MOST_CALLS_OF_A_LIFE)
    this.hubs = mix.many === true ? MANY_HUBS : mix.single === true ? HUBS.slice(0, 1) : HUBS
    const rotation = dice.pick(mix.rotations)
    const namesOwner = mix.parks !== true || dice.chance(0.3)
    const quiet = mix.quiet === true && dice.chance(0.5) ? { quiet: { from: '10:02', to: '10:20' } } : {}
    const waits = mix.hurried === true ? { waitMs: 0, intervalMs: 0 } : { waitMs: 30_000, intervalMs: 300_000 }
    this.scene = {
      world,
      real,
      keys: createKeys('s'),
      stored: new Stored(real),
      config: {
        keys: [OLD_KEY, NEW_KEY],
        rekeys: mix.rekeys === true,
        polls: mix.alerts === true,
        alerts: { warning: 80, critical: 95, by: [mix.many === true ? 'account' : 'rule'], ...waits, ...quiet },
      },
      provider: new StandInProvider(rotation, namesOwner),
      receivers: new Map(['hook', 'pager'].map((name) => [name, new StandInReceiver(name)])),
      jobs: [],
      folder: join(tmpdir(), `plimsoll-run-${process.pid}`),
      watch: (done) => this.#watch(done),
    }
    const { provider, receivers } = this.scene
    provider.mood = mix.mood ?? 'well'
    provider.onRedeem = (process, hubId) => this.#judgeRedeem(process, hubId)
    this.#outside = {
      move: (ms) => this.#move(ms),
      loseWrites: (calls) => this.#loseWrites(calls),
      refuseWrites: (why, calls) => this.#refuseWrites(why, calls),
      provider,
      receivers: [...receivers.values()],
    }
    world.note(`the provider's refresh tokens: ${rotation}${namesOwner ? '' : ', and it does not say whose they are'}`)
    this.#daemons = Array.from({ length: DAEMONS }, (_, n) => this.#start(`d${n + 1}`))
  }

  async connectAll(): Promise<void> {
    for (const hubId of this.hubs) await this.#finish(this.#work(this.#newDaemon(), 'connect', hubId))
  }

  async goWrong(): Promise<void> {
    const { world, jobs } = this.scene
    const { dice } = world
    const isAlerting = this.#mix.alerts === true
    let toBegin = this.#mix.mostActors ?? (isAlerting ? ACTORS_OF_ALERTS : ACTORS)
    const most = this.#mix.mostFaults ?? (isAlerting ? 2 * MOST_FAULTS : MOST_FAULTS)
    let faultsLeft = this.#mix.faults.length === 0 ? 0 : 1 + dice.below(most)
    for (;;) {
      for (const process of world.living) {
        if (process.isCut && dice.chance(process.isCutForLong ? 0.01 : 0.04)) world.connect(process)
      }
      const { pending } = world
      if (jobs.length > 0 && dice.chance(0.2)) {
        await this.#takeJob()
      } else if (toBegin > 0 && dice.chance(this.#mix.rarely === true ? 0.05 : pending.length === 0 ? 0.9 : 0.15)) {
        toBegin--
        await this.#begin(dice.pick(this.#mix.actors))
      } else if (faultsLeft > 0 && dice.chance(0.08)) {
        if (await FAULTS[dice.pick(this.#mix.faults)](world, this.#outside)) faultsLeft--
      } else if (dice.chance(0.05)) {
        await this.#move(dice.pick([1_000, 5_000, 60_000, 1_200_000]))
      } else if (pending.length > 0) {
        const { process } = await world.perform(dice.pick(pending))
        if (this.#mix.dies === true && process.calls === this.#callsOfALife) this.#kill(process)
        await this.#failOver()
        await this.#takeWrites()
        await this.#judgeRekeyed('when a rekey is done')
        await this.#judgeCall()
      } else if (toBegin === 0) {
        return
      }
    }
  }

  /** Whether all came to its end. */
  async heal(): Promise<boolean> {
    const { world, provider, receivers } = this.scene
    world.note('EVERYTHING HEALS')
    this.#behind = undefined
    await this.endRefusal()
    provider.mood = 'well'
    for (const receiver of receivers.values()) receiver.mood = 'well'
    world.redisAheadMs = 0
    for (const process of world.living) {
      if (this.#mix.apart !== true) process.aheadMs = 0
      world.connect(process)
    }
    // Before anybody looks whether there is more to do. Who waits to try again does so.
    await this.#finish(world.settle())
    // What is in hand goes to Redis.
    await this.#move(2_000)
    await this.#finish(world.settle())
    for (let round = 0; round < MOST_ROUNDS && world.living.some(({ sleepers }) => sleepers.length > 0); round++) {
      await this.#move(1_000)
      await this.#finish(world.settle())
    }
    const last = this.#start('last')
    for (const { machine } of this.#daemons.map((daemon) => daemon.process)) {
      if (existsSync(join(this.scene.folder, machine))) await this.#finish(last.storeSealed(machine))
    }
    if (this.#mix.alerts !== true) return this.#workToTheEnd(last)
    return (!this.#mix.actors.includes('uninstall') || (await this.#workToTheEnd(last))) && this.#tellAll(last)
  }

  async #workToTheEnd(last: Daemon): Promise<boolean> {
    const { world } = this.scene
    const until = world.now + KEEP_MS + 3_600_000
    // The first sweep may only bring forward what was planned by a clock that was ahead.
    await this.#sweepAll(last)
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const next = await this.#sweepAll(last)
      if (next === undefined || next > until) return this.#mix.rekeys !== true || this.#rekeyInTheEnd(last)
      await this.#move(Math.max(1_000, next - world.now))
    }
    return false
  }

  /** When something is due next. */
  async #sweepAll(last: Daemon): Promise<number | undefined> {
    const { stored } = this.scene
    // First: one that comes too late for its account leaves an uninstall.
    if ((await stored.nextGrant()) !== undefined) await this.#finish(last.sweepGrants())
    let next = await this.#finish(last.sweep())
    // What is claimed is due again, unless it is done.
    if (this.scene.jobs.length > 0) next = this.scene.world.now
    await this.#workAll(last)
    const grant = await stored.nextGrant()
    return grant === undefined ? next : Math.min(next ?? Number.POSITIVE_INFINITY, grant)
  }

  /** Whether all accounts could be polled, and all that was committed came to its end. */
  async #tellAll(last: Daemon): Promise<boolean> {
    const { world, jobs, stored } = this.scene
    for (const receiver of this.scene.receivers.keys()) await this.#judgeHeld(receiver)
    if (!(await this.#pollInTheEnd(last))) return false
    await this.#finish(last.replay())
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const next = await this.#finish(last.sweepAlerts())
      const isIdle = jobs.length === 0 && (await stored.unsettled()).length === 0
      await this.#workAll(last)
      if (next === undefined && isIdle) return true
      await this.#move(Math.max(30_000, (next ?? 0) - world.now))
    }
    return false
  }

  /** A command that was begun with the config from before. */
  #command(): Daemon {
    return startDaemon(this.scene, `c${++this.#commands}`, { vaultKeys: [OLD_KEY, NEW_KEY] })
  }

  async #import(daemon: Daemon, hubId: number, refreshToken: string): Promise<unknown> {
    try {
      return await daemon.import(hubId, refreshToken)
    } finally {
      if (!this.#daemons.includes(daemon)) {
        await daemon.leave()
        this.scene.world.kill(daemon.process)
      }
    }
  }

  get #living(): Daemon[] {
    return this.#daemons.filter(({ process }) => process.isAlive && !process.isStopping)
  }

  #reloadAll(): Promise<unknown> {
    this.scene.config.keys = [NEW_KEY, OLD_KEY]
    return Promise.all(this.#living.map((daemon) => daemon.reload()))
  }

  async #rekey(daemon: Daemon): Promise<unknown> {
    const { name, clock } = daemon.process
    if (this.#rekeys.has(name)) return 'under way'
    const rekey = { begunAt: clock.steady(), judgedAt: 0 }
    this.#rekeys.set(name, rekey)
    const rekeyed = await daemon.rekey((now) => (rekey.judgedAt = now))
    this.#rekeys.delete(name)
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
    this.troubles.push(...(await judgeKeys(this.scene, this.hubs, when)))
  }

  /** What must hold after each call. */
  async #judgeCall(): Promise<void> {
    const { stored } = this.scene
    // What was read earlier must not take the place of what was read later.
    for (const hubId of this.#polled) {
      const at = await stored.polledAt(hubId)
      if (at < (this.#polledAt.get(hubId) ?? 0))
        this.troubles.push({ what: 'an older reading is stored over a newer', hubId })
      this.#polledAt.set(hubId, at)
    }
    this.#polled.clear()
    for (const hubId of this.#givenUp) await this.#judgeGivenUp(hubId)
    this.#givenUp.clear()
    for (const [hubId, step] of this.#written) {
      this.troubles.push(...(await judgeAccess(this.scene, hubId)))
      const grant = (await keptTokens(this.scene, hubId))[0]?.grant ?? 0
      const isOlder = step === 'storeTokens' && grant < (this.#grants.get(hubId) ?? 0)
      if (isOlder) this.troubles.push({ what: 'tokens of a former grant are stored', hubId })
      this.#grants.set(hubId, grant)
    }
    this.#written.clear()
    for (const receiver of this.#sentTo) {
      await this.#noteWithheld(receiver)
      await this.#judgeHeld(receiver)
    }
    this.#sentTo.clear()
  }

  /** Also right after it is written: in the end the time to which it is held back may have passed. */
  async #judgeHeld(receiver: string): Promise<void> {
    const isOver = ({ by, checkAt }: { by: string | undefined; checkAt: number }) =>
      by !== undefined && this.#silencesEnded.has(by) && checkAt > this.scene.world.now
    if ((await this.scene.stored.held(receiver)).some(isOver))
      this.troubles.push({ what: 'an alert is held back by a silence that was ended', hubId: 0 })
  }

  /** What is not sent for good, and why: of each alert up to which of its transitions. */
  async #noteWithheld(name: string): Promise<void> {
    const receiver = this.scene.receivers.get(name)
    for (const [alert, told] of await this.scene.stored.told(name)) {
      if (told.why === undefined) continue
      receiver?.withheld.set(alert, told.number)
      if (!SPARED.test(told.why)) this.troubles.push({ what: `an alert is not sent: ${told.why}`, hubId: 0 })
    }
  }

  /** Whether all are polled by their plans: their tokens may have to be refreshed before. */
  async #pollInTheEnd(last: Daemon): Promise<boolean> {
    const { world } = this.scene
    const healedAt = world.now
    // The moment of a poll says nothing: the clock of Redis may have been ahead.
    this.#polledInTheEnd.clear()
    while (world.now - healedAt <= LONGEST_WAIT_MS) {
      await this.#move(60_000)
      await this.#finish(last.sweep())
      await this.#workAll(last)
      const states = await Promise.all(this.hubs.map((hubId) => this.scene.stored.field(hubId, 'state')))
      if (this.hubs.every((hubId, n) => states[n] === null || this.#polledInTheEnd.has(hubId))) return true
    }
    return false
  }

  async #begin(actor: Actor): Promise<void> {
    const { world } = this.scene
    let daemon = this.#anyDaemon()
    const hubId = world.dice.pick(this.hubs)
    if (GRANTING.has(actor)) {
      if (this.#mix.crossing !== true && this.#granting.get(hubId)?.process.isAlive === true) return
      if (this.#mix.rekeys === true && actor === 'import') daemon = this.#command()
      this.#granting.set(hubId, daemon)
    }
    world.note(`${daemon.process.name} BEGINS to ${actor} ${hubId}`)
    this.#toEnd(daemon, actor, hubId, this.#work(daemon, actor, hubId))
    await world.settle()
  }

  /** Somebody makes properties, or deletes some. */
  #use(hubIds: readonly number[]): void {
    const { world, provider } = this.scene
    const usage = world.dice.pick([500, 850, 970])
    for (const hubId of hubIds) provider.usage.set(hubId, usage)
    world.note(`${hubIds} USES ${usage}`)
  }

  /** Some daemon takes a job. It may be done twice: whoever took it may have been taken for dead. */
  async #takeJob(): Promise<void> {
    const { world, jobs } = this.scene
    const job = world.dice.pick(jobs)
    if (world.dice.chance(0.8)) jobs.splice(jobs.indexOf(job), 1)
    const daemon = this.#anyDaemon()
    const what = job.queue
    world.note(`${daemon.process.name} TAKES ${what}`)
    daemon.work(job).catch((error: unknown) => world.note(`${daemon.process.name} did not ${what}: ${error}`))
    await world.settle()
  }

  async #workAll(last: Daemon): Promise<void> {
    await this.#finish(Promise.all(this.scene.jobs.splice(0).map((job) => last.work(job))))
  }

  #work(daemon: Daemon, actor: Actor, hubId: number): Promise<unknown> {
    const { provider, world } = this.scene
    switch (actor) {
      case 'connect':
        return daemon.connect(provider.authorize(hubId))
      case 'connect by the other link':
        this.intents.byOtherLink.add(hubId)
        return daemon.connect(provider.authorize(hubId), hubId + 1)
      case 'import':
        return this.#import(daemon, hubId, provider.grant(hubId))
      case 'refresh':
        return daemon.work({ queue: 'refresh' })
      case 'refresh now':
        return daemon.refreshNow(hubId)
      case 'uninstall':
        return daemon.beginUninstall(hubId)
      case 'run uninstall':
        return daemon.work({ queue: 'uninstall' })
      case 'sweep':
        return daemon.sweep()
      case 'sweep grants':
        return daemon.sweepGrants()
      case 'restart':
        return this.#restart(daemon)
      case 'reload':
        return this.#reloadAll()
      case 'rekey':
        return this.#rekey(daemon)
      case 'poll':
        if (world.dice.chance(0.6)) this.#use([hubId])
        return daemon.poll(hubId)
      case 'use':
        this.#use(this.hubs)
        return Promise.resolve()
      case 'poll all':
        return daemon.pollMany(this.hubs)
      case 'sweep alerts':
        return daemon.sweepAlerts()
      case 'silence':
        return daemon.silence(hubId, world.dice.pick([30_000, 300_000, 14_400_000]))
      case 'end silence':
        return daemon.endSilence().then((id) => this.#silencesEnded.add(id))
      case 'acknowledge':
        return daemon.acknowledge(hubId)
      case 'move a receiver':
        world.dice.pick(this.#outside.receivers).address++
        return this.#reloadAlerts()
      case 'other groups':
        this.scene.config.alerts = { ...this.scene.config.alerts, by: [world.dice.pick(['rule', 'account', 'level'])] }
        return this.#reloadAlerts()
      case 'other thresholds':
        this.scene.config.alerts = { ...this.scene.config.alerts, ...world.dice.pick(THRESHOLDS) }
        return this.#reloadAlerts()
    }
  }

  async #restart(daemon: Daemon): Promise<unknown> {
    await daemon.stop()
    const { machine } = daemon.process
    return this.#newDaemon(machine).storeSealed(machine)
  }

  #reloadAlerts(): Promise<unknown> {
    return Promise.all(this.#living.map((daemon) => daemon.reloadAlerts()))
  }

  #toEnd(daemon: Daemon, actor: Actor, hubId: number, work: Promise<unknown>): void {
    const { world } = this.scene
    const end = (what: string) => {
      if (GRANTING.has(actor)) this.#granting.delete(hubId)
      world.note(`${daemon.process.name} ended to ${actor} ${hubId}: ${what}`)
    }
    work.then(
      (outcome) => end((outcome as { is?: string } | undefined)?.is ?? String(outcome)),
      (error: unknown) => end(String(error)),
    )
  }

  #anyDaemon(): Daemon {
    return this.#living.length === 0 ? this.#newDaemon() : this.scene.world.dice.pick(this.#living)
  }

  #kill(process: Process): void {
    this.scene.world.noteFault('death', process.name)
    this.scene.world.kill(process)
  }

  #start(name: string, machine?: string): Daemon {
    const daemon = startDaemon(this.scene, name, { machine })
    if (this.#mix.apart === true) daemon.process.aheadMs = this.scene.world.dice.pick(HOURS_APART)
    return daemon
  }

  #newDaemon(machine?: string): Daemon {
    const daemon = this.#start(`d${this.#daemons.length + 1}`, machine)
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
      await this.#judgeCall()
      if (world.pending.length > 0) continue
      if (isDone) return done
      if (world.living.some(({ sleepers }) => sleepers.length > 0)) await this.#move(1_000)
      else throw new Hangs()
    }
  }

  async #loseWrites(calls: number): Promise<boolean> {
    if (this.#behind !== undefined) return false
    this.#behind = { snapshot: await takeSnapshot(this.scene.real, NAMES.all), calls, leftMs: LAG_MS }
    this.scene.world.note(`a replica is behind, by ${calls} calls in the end`)
    return true
  }

  /** Connections break with it. */
  async #failOver(): Promise<void> {
    const { world, real } = this.scene
    if (this.#behind === undefined || (--this.#behind.calls > 0 && this.#behind.leftMs >= 0)) return
    const { snapshot } = this.#behind
    this.#behind = undefined
    await this.endRefusal()
    await restore(real, snapshot)
    this.#grants.clear()
    this.#polledAt.clear()
    world.noteFault('failover', 'the writes since are lost')
    for (const process of world.living) process.isCut = true
  }

  async #refuseWrites(why: Refusal, calls: number): Promise<boolean> {
    if (this.#refusedFor !== undefined) return false
    this.#refusedFor = calls
    await refuseWrites(this.scene.real, why)
    this.scene.world.noteFault('writes refused', `${why}, for ${calls} calls`)
    return true
  }

  async #takeWrites(): Promise<void> {
    if (this.#refusedFor !== undefined && --this.#refusedFor <= 0) await this.endRefusal()
  }

  async endRefusal(): Promise<void> {
    if (this.#refusedFor === undefined) return
    this.#refusedFor = undefined
    await takeWrites(this.scene.real)
    this.scene.world.note('Redis takes writes again')
  }

  async #move(ms: number): Promise<void> {
    const { world } = this.scene
    if (this.#behind !== undefined && ms > 0) {
      this.#behind.leftMs -= ms
      if (this.#behind.leftMs < 0) await this.#failOver()
    }
    world.note(`TIME moves by ${ms / 1_000} s`)
    await world.move(ms)
  }

  #noteClaims({ process, step, hubId: account, args: [set, hubId], answer }: DoneStep): void {
    const of = { claimAccount: [hubId], claimAccounts: set === NAMES.grantsDue ? ['grant'] : answer }[step]
    const isOurs = set === NAMES.due('refresh') || set === NAMES.grantsDue
    const some = step.startsWith('claimRefreshes') ? [account, ...[answer].flat(2)] : isOurs ? of : []
    for (const one of Array.isArray(answer) && Array.isArray(some) ? some : [])
      this.#claimedAt.set(`${process.name} ${one}`, process.clock.steady())
  }

  /** A refresh token is sent by whoever has claimed it, and will have it until the call is over. */
  #judgeRedeem({ name, clock }: Process, hubId: number): void {
    const age = (what: number | 'grant') => clock.steady() - (this.#claimedAt.get(`${name} ${what}`) ?? 0)
    if (age(hubId) > CLAIMS_MS.account && age('grant') > CLAIMS_MS.grant)
      this.troubles.push({ what: 'a refresh token is sent after its claim', hubId })
    this.#judgeTried(hubId, clock.steady())
  }

  /** While all are refused few calls are made. An account may have several tokens to try. */
  #judgeTried(hubId: number, now: number): void {
    if (this.#trouble === undefined || now - this.#trouble.at <= PERMITTED_MS) return
    this.#trouble.tried.push({ hubId, at: now })
    const lately = this.#trouble.tried.filter(({ at }) => now - at < NEXT_TRIED_MS)
    if (new Set(lately.map((one) => one.hubId)).size > MOST_TRIED)
      this.troubles.push({ what: 'many accounts are tried while all are refused', hubId })
  }

  /**
   * A rekey closes the old key while no process writes with it, as far as they have reported. A report may be too old by the rekey's own
   * clock alone: after a jump of Redis' clock that one follows within a second, and later where its connection is broken.
   */
  #noteKeys({ process, step, args: [key, name, text] }: DoneStep): void {
    const at = process.clock.steady()
    if (step === 'hset' && key === NAMES.daemons) this.#keysReported.set(name, { ...JSON.parse(String(text)), at })
    if (step === 'hdel' && key === NAMES.daemons) this.#keysReported.delete(name)
    if (step !== 'hset' || key !== NAMES.fleet || !String(name).startsWith('closed-key:')) return
    const { begunAt, judgedAt } = this.#rekeys.get(process.name) ?? { begunAt: 0, judgedAt: 0 }
    const isHeard = (moment: number, until: number) => until - moment < HEARD_MS
    const writes = [...this.#keysReported.values()].filter(({ keyId }) => keyId === OLD_KEY.id)
    if (writes.some((one) => one.at < begunAt && isHeard(one.at, at) && isHeard(one.lastSeenAt, judgedAt)))
      this.troubles.push({ what: 'a rekey goes on beside a process with the old key', hubId: 0 })
  }

  /** All accounts are refused alike. */
  #noteEndpoint({ is, suspects }: { is: string; suspects: Record<string, unknown[]> }, at: number): void {
    const isOfAll = (some: unknown[]) => some.length >= Math.max(LEAST_ALIKE, this.hubs.length)
    const isTrouble = is === 'open' || Object.values(suspects).some(isOfAll)
    this.#trouble = isTrouble ? (this.#trouble ?? { calls: this.scene.world.calls, at, tried: [] }) : undefined
  }

  /** What is reported while the trouble begins may be of before. */
  async #judgeGivenUp(hubId: number): Promise<void> {
    const { world, provider } = this.scene
    if (this.#trouble !== undefined && world.calls - this.#trouble.calls > CALLS_UNTIL_KNOWN)
      this.troubles.push({ what: 'an account is given up for the trouble of all', hubId })
    // Another grant of the account may be redeemed meanwhile: that says nothing of the one that is given up.
    const [refused] = await keptTokens(this.scene, hubId)
    const { since, last } = provider.refusedFor.get(refused?.grant ?? 0) ?? { since: 0, last: 0 }
    if (last - since < 1_000) this.troubles.push({ what: 'an account is given up when it is refused once', hubId })
  }

  #watch({ process, step, hubId, args, answer }: DoneStep): void {
    if (step === 'recordSends' && answer !== 'lost') this.#sentTo.add(String(args[1]))
    if (step === 'commitPolls' && answer === 'committed') {
      this.#polled.add(hubId)
      this.#polledInTheEnd.add(hubId)
    }
    this.#noteClaims({ process, step, hubId, args, answer })
    this.#noteKeys({ process, step, hubId, args, answer })
    if (WRITES_TOKENS.has(String(answer))) this.#written.set(hubId, step)
    const isEndpoint = step === 'replaceField' && args[1] === 'endpoint' && answer === null
    if (isEndpoint) this.#noteEndpoint(JSON.parse(String(args[3])).breaker, process.clock.steady())
    if (step === 'recordRefreshFailure' && answer === 'recorded' && args[4] === 'reauthorize') this.#givenUp.add(hubId)
    if (step === 'storeTokens') this.storeAnswers.set(hubId, String(answer))
    if (step === 'beginUninstall' && answer === 'begun') this.scene.provider.granted.delete(hubId)
    this.intents.note({ process, step, hubId, args, answer })
  }
}

/** Answers of steps that write tokens, or take them away. */
const WRITES_TOKENS = new Set(['connected', 'reconnected', 'imported', 'replaced', 'stored', 'begun', 'finished'])
/** The only reasons for which somebody is not sent what was committed. */
const SPARED = /^(ended before (silence|the quiet hours)|sent a short while ago)/
const GRANTING: ReadonlySet<Actor> = new Set(['connect', 'connect by the other link', 'import'])
/** None so near to what is used that a level stays for its margin. */
const THRESHOLDS = [
  { warning: 80, critical: 95 },
  { warning: 40, critical: 80 },
  { warning: 92, critical: 110 },
]
