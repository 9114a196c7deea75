import { type ChildProcess, fork } from 'node:child_process'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { AppIdentity } from '../../provider/client.ts'
import type { ObservedCall } from '../../provider/observed-call.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { LogEvent, Logger } from '../../runtime/logger.ts'
import type { Lease } from '../lease.ts'
import type { Redeemed, RedeemJob } from '../redeem.ts'
import type { VaultKey } from '../vault.ts'
import {
  type CourierSettings,
  credentialsFrom,
  type FromCourier,
  inBatches,
  ordersFrom,
  type ToCourier,
} from './messages.ts'

export interface CourierDeps {
  settings: CourierSettings
  /** Those whose refresh token is with the courier are among them. */
  unstored: Set<number>
  /** In this very process: late is better than never, where no courier can be started. */
  redeemHere: (job: RedeemJob, lease: Pick<Lease, 'isHeld'>) => Promise<Redeemed>
  /** Told of each of its calls to the provider. */
  observe?: (call: ObservedCall) => void
  clock: Clock
  log: Logger
}

/** `left`: the daemon stops, and its courier is at it still, with the account's lease. */
export type CourierAnswer = Redeemed | { is: 'left' }

interface Pending {
  job: RedeemJob
  lease: Pick<Lease, 'isHeld'>
  sentTo: Running | undefined
  resolve(answer: CourierAnswer): void
  reject(error: Error): void
}

interface Running {
  child: ChildProcess
  /** It has its orders, and has said so. */
  isReady: boolean
  /** Ready, or at its end. */
  settled: Promise<void>
  settle(): void
  exited: Promise<void>
  /** Who waits until new credentials are in force, in the order of these. */
  taking: (() => void)[]
  say(item: ToCourier): void
}

/** `.ts` where Node runs the sources, `.js` in the built package. */
const ENTRY = fileURLToPath(new URL(`courier-process${extname(import.meta.url)}`, import.meta.url))
/** A courier that ends by itself is not replaced sooner. */
const PAUSE_MS = 1_000
const TAKEN_WITHIN_MS = 5_000
/** What a Node process may need of its surroundings. The rest stays here: secrets of the config may be among it. */
const ENVIRONMENT = [
  ...['PATH', 'HOME', 'TMPDIR', 'TZ', 'LANG', 'LC_ALL', 'LD_LIBRARY_PATH', 'REDIS_SERVER_BIN'],
  ...['SSL_CERT_FILE', 'SSL_CERT_DIR', 'OPENSSL_CONF', 'NODE_OPTIONS', 'NODE_EXTRA_CA_CERTS'],
  ...['NODE_USE_SYSTEM_CA', 'NODE_TLS_REJECT_UNAUTHORIZED'],
]

/**
 * The daemon's side of its courier, the process that redeems refresh tokens where each is good for one refresh only. It is
 * started with the first job. A daemon that is killed leaves the courier to store what is under way.
 */
export class Courier {
  readonly #deps: CourierDeps
  #settings: CourierSettings
  readonly #pending = new Map<number, Pending>()
  #lastId = 0
  #running: Running | undefined
  #notBefore = 0
  #isStartPlanned = false
  #skewMs: number | undefined
  readonly #stopping = new AbortController()

  constructor(deps: CourierDeps) {
    this.#deps = deps
    this.#settings = deps.settings
  }

  /**
   * Resolves when jobs go out at once, or no courier can be started. Before a call is let through to the provider: those
   * that were let through while it started, a second's worth on a busy machine, would all go out in one burst.
   */
  async ready(): Promise<void> {
    const waitMs = this.#running === undefined ? this.#notBefore - this.#deps.clock.now() : 0
    if (waitMs > 0) await this.#deps.clock.wait(waitMs, this.#stopping.signal)
    if (!this.#stopping.signal.aborted) await (this.#running ?? this.#start())?.settled
  }

  /** Throws when the courier dies over it: whatever the provider answered then may be lost. */
  async redeem(job: RedeemJob, lease: Pick<Lease, 'isHeld'>): Promise<CourierAnswer> {
    if (this.#stopping.signal.aborted) return { is: 'too-late' }
    this.#deps.unstored.add(job.hubId)
    try {
      return await new Promise<CourierAnswer>((resolve, reject) => {
        this.#lastId++
        this.#pending.set(this.#lastId, { job, lease, sentTo: undefined, resolve, reject })
        this.#handOver()
      })
    } finally {
      this.#deps.unstored.delete(job.hubId)
    }
  }

  /** Other keys, and another identity at the provider. They are in force when this resolves. */
  async replace(keys: readonly VaultKey[], app: AppIdentity): Promise<void> {
    this.#settings = { ...this.#settings, keys, provider: { ...this.#settings.provider, ...app } }
    const running = this.#running
    if (running === undefined) return
    const taken = new Promise<void>((resolve) => running.taking.push(resolve))
    running.say(credentialsFrom(keys, app))
    // One that has lost its daemon says itself which key it encrypts with.
    await Promise.race([taken, running.exited, this.#deps.clock.wait(TAKEN_WITHIN_MS)])
  }

  /** How far the provider's clock is ahead, ms, as the courier has seen it. */
  get skewMs(): number | undefined {
    return this.#skewMs
  }

  /** Of the process, while there is one. */
  get pid(): number | undefined {
    return this.#running?.child.pid
  }

  /** Lets it finish, and waits for that; after `patienceMs` it is left to finish by itself. */
  async stop(patienceMs: number): Promise<void> {
    this.#stopping.abort()
    this.#breakOff(({ sentTo }) => sentTo === undefined, 'the daemon stops')
    const running = this.#running
    if (running === undefined) return
    // What was said in this turn is on its way with the next one.
    await new Promise((resolve) => setImmediate(resolve))
    if (running.child.connected) running.child.disconnect()
    const ended = new AbortController()
    const late = this.#deps.clock.wait(patienceMs, ended.signal).then(() => 'late')
    const isLate = (await Promise.race([running.exited, late])) === 'late'
    ended.abort()
    if (!isLate) return
    this.#deps.log.warn({ code: 'courier.late', pid: running.child.pid }, 'the courier finishes by itself')
    for (const id of this.#pending.keys()) this.#take(id)?.resolve({ is: 'left' })
    running.child.unref()
  }

  /** Starts a courier where there is none; gives it what waits, where it is ready. */
  #handOver(): void {
    const running = this.#running ?? this.#start()
    if (running?.isReady !== true) return
    for (const [id, pending] of this.#pending) {
      if (pending.sentTo !== undefined) continue
      pending.sentTo = running
      running.say({ is: 'job', id, job: pending.job })
    }
  }

  #start(): Running | undefined {
    const waitMs = this.#notBefore - this.#deps.clock.now()
    if (waitMs > 0) {
      void this.#startLater(waitMs)
      return undefined
    }
    const child = fork(ENTRY, [], {
      execArgv: process.execArgv.filter((option) => !option.startsWith('--inspect')),
      env: Object.fromEntries(ENVIRONMENT.map((name) => [name, process.env[name]])),
      // Its own process group: a signal to all of the daemon's must not end it.
      ...{ detached: true, stdio: ['ignore', 'ignore', 'ignore', 'ipc'], serialization: 'advanced' },
    })
    // That a message can't be sent any more is told by the end of the process, which follows.
    const say = inBatches<ToCourier>((items) => void (child.connected && child.send(items, undefined, {}, () => {})))
    const ended = Promise.withResolvers<void>()
    const { promise: settled, resolve: settle } = Promise.withResolvers<void>()
    const running: Running = { child, isReady: false, settled, settle, exited: ended.promise, taking: [], say }
    const end = (reason: string) => {
      this.#retire(running)
      this.#end(running, reason)
      ended.resolve()
      settle()
    }
    child.on('error', (error) => end(error.message))
    // It takes nothing new any more, and may still have something to finish.
    child.on('disconnect', () => this.#retire(running))
    child.on('exit', (code, signal) => end(String(signal ?? code)))
    child.on('message', (items: FromCourier[]) => {
      for (const item of items) this.#hear(running, item)
    })
    this.#running = running
    running.say({ is: 'orders', orders: ordersFrom(this.#settings) })
    return running
  }

  async #startLater(waitMs: number): Promise<void> {
    if (this.#isStartPlanned) return
    this.#isStartPlanned = true
    await this.#deps.clock.wait(waitMs, this.#stopping.signal)
    this.#isStartPlanned = false
    if (!this.#stopping.signal.aborted && this.#pending.size > 0) this.#handOver()
  }

  #hear(running: Running, item: FromCourier): void {
    switch (item.is) {
      case 'ready':
        running.isReady = true
        running.settle()
        this.#deps.log.info({ code: 'courier.started', pid: running.child.pid }, 'the courier is at work')
        this.#handOver()
        break
      case 'redeemed':
        this.#skewMs = item.skewMs
        this.#take(item.id)?.resolve(item.redeemed)
        break
      case 'broken':
        this.#take(item.id)?.reject(new Error(item.message))
        break
      case 'called':
        this.#deps.observe?.(item.call)
        break
      case 'taken':
        running.taking.shift()?.()
        break
      case 'log':
        this.#log(running, item.line)
    }
  }

  /** Its line goes on as ours; the error in it was described where it happened. */
  #log(running: Running, line: string): void {
    const { level, time: _, msg, ...event } = JSON.parse(line) as LogEvent & { level: string; msg: string }
    const log = this.#deps.log.child({ courier: running.child.pid }, { serializers: { err: (described) => described } })
    log[level === 'error' || level === 'warn' || level === 'debug' ? level : 'info'](event, msg)
  }

  #retire(running: Running): void {
    if (this.#running !== running) return
    this.#running = undefined
    this.#notBefore = this.#deps.clock.now() + PAUSE_MS
  }

  #end(running: Running, reason: string): void {
    if (!this.#stopping.signal.aborted) {
      const underWay = [...this.#pending.values()].filter(({ sentTo }) => sentTo === running).length
      const facts = { pid: running.child.pid, reason, underWay }
      this.#deps.log.error({ code: 'courier.ended', ...facts }, 'the courier has ended')
    }
    this.#breakOff(
      ({ sentTo }) => sentTo === running,
      `the courier ended (${reason}): what the provider answered may be lost`,
    )
    if (running.isReady) return
    for (const [id, { job, lease, sentTo, resolve, reject }] of this.#pending) {
      if (sentTo !== undefined) continue
      this.#pending.delete(id)
      this.#deps.redeemHere(job, lease).then(resolve, reject)
    }
  }

  #take(id: number): Pending | undefined {
    const pending = this.#pending.get(id)
    this.#pending.delete(id)
    return pending
  }

  #breakOff(which: (pending: Pending) => boolean, message: string): void {
    for (const [id, pending] of this.#pending) {
      if (!which(pending)) continue
      this.#pending.delete(id)
      pending.reject(new Error(message))
    }
  }
}
