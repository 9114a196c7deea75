import { type Clock, createClock } from '../../src/runtime/clock.ts'
import { Dice, seedCrypto } from './seeded.ts'

/** What was asked of the store or of the provider, and is not answered yet. */
export interface Call {
  label: string
  /** Does it. It may be done twice. */
  run: (isAgain: boolean) => Promise<unknown>
  answer: (value: unknown) => void
  fail: (error: unknown) => void
  /** How often it was done. */
  runs: number
}

/** What the scheduler knows of one simulated process. */
export interface Process {
  name: string
  /** Has its data folder. */
  machine: string
  isAlive: boolean
  /** How many were answered. */
  calls: number
  /** It begins nothing any more. */
  isStopping: boolean
  /** It put into its data folder what Redis had not taken. */
  endedWell: boolean
  /** Its connection to the store is broken: nothing is done for it until it connects again. */
  isCut: boolean
  isCutForLong: boolean
  /** How far its machine's clock is ahead, ms. */
  aheadMs: number
  /** Who hears that it is there again. */
  onReady: (() => void)[]
  /** One connection: what was asked first is done first, and after a reconnect what was not answered is asked again. */
  store: Call[]
  /** In any order. */
  provider: Call[]
  sleepers: { until: number; wake: () => void }[]
  repeated: Set<{ everyMs: number; at: number; work: () => Promise<void> }>
  clock: Clock
  /** When it last asked Redis for the time, by the steady clock. */
  askedAt: number
}

/** The rule allows it from then on, an hour by a clock of Redis that may have been minutes ahead. */
const GIVEN_UP_AFTER_MS = 3_600_000 - 610_000

const ASK_EVERY_MS = 1_000

/** Turns of the event loop in which whoever was answered asks for more: steps that travel together leave in the next one. */
const TURNS = 30

/** A run takes some hundred calls. More than so many, and it goes round in circles. */
const MOST_CALLS = 20_000
const LONGEST_RUN_CPU_MS = 60_000

/** A run that comes to no end. What goes round without a call is ended by whoever runs it. */
export class Hangs extends Error {}

/** Time, the processes and all that they asked for: one thing happens at a time, and the seed says which. */
export class World {
  readonly dice: Dice
  readonly processes: Process[] = []
  /** What happened, line by line: the same for the same seed. */
  readonly schedule: string[] = []
  readonly faults: Record<string, number> = {}
  now = Date.parse('2026-11-21T10:00:00.000Z')
  /** How far the clock of Redis is ahead, ms. */
  redisAheadMs = 0
  /** By clocks that nobody sets back. */
  #passed = 0

  /** How long a call takes, ms. */
  readonly callMs: number
  /** Hears of each moment before anything is done at it. */
  readonly #atMoment: (redisNow: number) => void
  calls = 0
  #told = 0
  readonly #cpuBefore = process.cpuUsage()

  constructor(seed: number, callMs: number, atMoment: (redisNow: number) => void) {
    this.dice = new Dice(seed)
    seedCrypto(seed)
    this.callMs = callMs
    this.#atMoment = atMoment
  }

  addProcess(name: string): Process {
    const process: Process = {
      name,
      machine: name,
      isAlive: true,
      calls: 0,
      isStopping: false,
      endedWell: false,
      isCut: false,
      isCutForLong: false,
      aheadMs: 0,
      onReady: [],
      store: [],
      provider: [],
      sleepers: [],
      repeated: new Set(),
      clock: this.#clockOf(() => process),
      askedAt: Number.NEGATIVE_INFINITY,
    }
    this.processes.push(process)
    this.#tellTime(process)
    return process
  }

  /** Waits for its turn. Of a process that is dead it never comes. */
  ask<T>(process: Process, to: 'store' | 'provider', label: string, run: (isAgain: boolean) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (!process.isAlive) return
      process[to].push({ label, run, runs: 0, answer: (value) => resolve(value as T), fail: reject })
    })
  }

  #clockOf(of: () => Process): Clock {
    return {
      ...createClock({ now: () => this.now + of().aheadMs, steady: () => this.#passed }),
      wait: (ms, signal) =>
        new Promise((wake) => {
          const sleeper = { until: this.#passed + ms, wake }
          const process = of()
          process.sleepers.push(sleeper)
          const abort = () => {
            process.sleepers = process.sleepers.filter((other) => other !== sleeper)
            wake()
          }
          signal?.addEventListener('abort', abort, { once: true })
        }),
      every: (everyMs, work) => {
        const one = { everyMs, at: this.#passed + everyMs, work }
        of().repeated.add(one)
        return () => of().repeated.delete(one)
      },
    }
  }

  note(line: string): void {
    this.schedule.push(line)
  }

  /** Grants that the provider named no account of for an hour: they are dropped by the rule. */
  grantsGivenUp = 0
  grantsGivenUpEarly = 0

  noteLine(line: string): void {
    const { code, err, grantedAt } = JSON.parse(line)
    this.note(`LOG ${code} ${err?.message ?? ''}`)
    if (code !== 'grant.given-up') return
    if (this.now - Date.parse(grantedAt) >= GIVEN_UP_AFTER_MS) this.grantsGivenUp++
    else this.grantsGivenUpEarly++
  }

  noteFault(kind: string, line: string): void {
    this.faults[kind] = (this.faults[kind] ?? 0) + 1
    this.note(`FAULT ${kind}: ${line}`)
  }

  get living(): Process[] {
    return this.processes.filter(({ isAlive }) => isAlive)
  }

  /** Everything that may be done next. */
  get pending(): { process: Process; from: Call[]; call: Call }[] {
    return this.living.flatMap((process) => [
      ...process.store.slice(0, process.isCut ? 0 : 1).map((call) => ({ process, from: process.store, call })),
      ...process.provider.map((call) => ({ process, from: process.provider, call })),
    ])
  }

  /** Not by the clock: on a busy machine a run waits for its turn, and hangs no more for that. */
  #cpuMs(): number {
    const { user, system } = process.cpuUsage(this.#cpuBefore)
    return (user + system) / 1_000
  }

  /** Does one of them, and lets whoever asked go on. */
  async perform(pending: { process: Process; from: Call[]; call: Call }): Promise<{ process: Process }> {
    const { process, from, call } = pending
    if (++this.calls > MOST_CALLS || (this.calls % 100 === 0 && this.#cpuMs() > LONGEST_RUN_CPU_MS)) throw new Hangs()
    const isAgain = call.runs > 0
    this.now += this.callMs
    this.#passed += this.callMs
    const [value, error] = await this.runOnce(process, call)
    from.splice(from.indexOf(call), 1)
    this.note(`${process.name} ${call.label}${isAgain ? ' AGAIN' : ''} -> ${shortly(error ?? value)}`)
    if (error === undefined) call.answer(value)
    else call.fail(error)
    process.calls++
    await this.settle()
    return pending
  }

  /** Does it without a word to whoever asked. */
  async runOnce(process: Process, call: Call): Promise<[value: unknown, error?: unknown]> {
    const isAgain = call.runs++ > 0
    this.#tellRedis()
    try {
      return [await call.run(isAgain)]
    } catch (error) {
      if (error === undefined) throw new Error(`${process.name} ${call.label} failed with nothing`)
      return [undefined, error]
    }
  }

  #tellRedis(): void {
    const redisNow = this.now + this.redisAheadMs
    if (redisNow !== this.#told) this.#atMoment(redisNow)
    this.#told = redisNow
  }

  /** As a daemon asks, once a second, as long as its connection lasts. */
  #tellTime(process: Process): void {
    if (process.isCut || this.#passed < process.askedAt + ASK_EVERY_MS) return
    process.askedAt = this.#passed
    process.clock.follow(this.now + this.redisAheadMs, this.#passed, this.#passed)
  }

  connect(process: Process): void {
    if (!process.isCut) return
    this.note(`${process.name} is connected again`)
    process.isCut = false
    process.isCutForLong = false
    for (const hear of process.onReady) hear()
  }

  kill(process: Process): void {
    process.isAlive = false
    process.store = []
    process.provider = []
    process.sleepers = []
    process.repeated.clear()
  }

  async move(ms: number): Promise<void> {
    this.now += ms
    this.#passed += Math.max(0, ms)
    for (const process of this.living) {
      const awake = process.sleepers.filter(({ until }) => until <= this.#passed)
      process.sleepers = process.sleepers.filter(({ until }) => until > this.#passed)
      for (const { wake } of awake) wake()
      for (const one of process.repeated) {
        if (one.at > this.#passed) continue
        one.at = this.#passed + one.everyMs
        void one.work()
      }
    }
    await this.settle()
  }

  async settle(): Promise<void> {
    for (const process of this.living) this.#tellTime(process)
    for (let turn = 0; turn < TURNS; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
}

function shortly(value: unknown): string {
  if (value instanceof Error) return `error ${value.message}`
  if (Buffer.isBuffer(value)) return `${value.length} bytes`
  if (Array.isArray(value)) return `[${value.length > 6 ? value.length : value.map(shortly)}]`
  if (typeof value === 'object' && value !== null) return 'ok' in value && value.ok === false ? 'failed' : 'ok'
  // Redis names the entries of a stream by its own clock.
  return String(value)
    .slice(0, 30)
    .replace(/\d{13}-\d+$/, 'id')
}
