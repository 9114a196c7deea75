import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { createProviderClient } from '../../provider/client.ts'
import { connectRedis } from '../../redis/connect.ts'
import { openEmbeddedRedis } from '../../redis/embedded.ts'
import { createKeys } from '../../redis/keys.ts'
import { systemClock } from '../../runtime/clock.ts'
import { InFlight } from '../../runtime/in-flight.ts'
import { createLogger, type Logger } from '../../runtime/logger.ts'
import { Secret } from '../../runtime/secret.ts'
import { keepLease } from '../lease.ts'
import { type Redeemed, type RedeemJob, redeemAndStore } from '../redeem.ts'
import { TokenStore } from '../token-store.ts'
import { createVault } from '../vault.ts'
import { startWriterReports } from '../writers.ts'
import { type CourierSettings, type FromCourier, inBatches, settingsFrom, type ToCourier } from './messages.ts'

/**
 * The courier: a process beside the daemon that redeems refresh tokens and stores what comes back, so that a daemon which
 * is killed takes no answer along. It lives as long as the channel to its daemon is open, and then until nothing is under
 * way any more.
 */
interface Work {
  redeem(job: RedeemJob): Promise<Redeemed>
  skewMs(): number | undefined
  take(credentials: Extract<ToCourier, { is: 'credentials' }>): void
  close(): Promise<void>
}

/** As long as a refused write is tried again: nothing that is under way can take longer. */
const LONGEST_ALONE_MS = 11 * 60_000
const CLOSE_WITHIN_MS = 3_000

let work: Work | undefined
let underWay = 0
let isEnding = false

// Nobody may be left to hear it: that the channel is closed is no failure.
const tell = inBatches<FromCourier>((items) => void process.send?.(items, undefined, {}, () => {}))
const log = createLogger({ level: 'debug', pretty: false }, { write: (line) => tell({ is: 'log', line }) })

// They may be meant for the daemon's whole group, or be sent to all that it left behind. The daemon has the say.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
for (const event of ['uncaughtException', 'unhandledRejection'] as const) process.on(event, breakOff)
process.on('disconnect', endAlone)
process.on('message', (items: ToCourier[]) => {
  for (const item of items) hear(item)
})
if (!process.connected) endAlone()

function hear(item: ToCourier): void {
  switch (item.is) {
    case 'orders':
      void begin(settingsFrom(item.orders)).catch(breakOff)
      break
    case 'credentials':
      work?.take(item)
      break
    case 'job':
      void carryOut(item.id, item.job)
  }
}

async function begin(settings: CourierSettings): Promise<void> {
  log.level = settings.logLevel
  work = await openWork(settings, log)
  tell({ is: 'ready' })
}

async function carryOut(id: number, job: RedeemJob): Promise<void> {
  underWay++
  try {
    if (work === undefined) throw new Error('a job came ahead of the orders')
    tell({ is: 'redeemed', id, redeemed: await work.redeem(job), skewMs: work.skewMs() })
  } catch (error) {
    tell({ is: 'broken', id, message: error instanceof Error ? error.message : String(error) })
  } finally {
    underWay--
    if (!process.connected) endIfIdle()
  }
}

function endAlone(): void {
  void sleep(LONGEST_ALONE_MS).then(() => process.exit(1))
  endIfIdle()
}

function endIfIdle(): void {
  if (underWay > 0 || isEnding) return
  isEnding = true
  const closed = work?.close().catch(() => undefined)
  void Promise.race([closed, sleep(CLOSE_WITHIN_MS)]).then(() => process.exit(0))
}

/**
 * Whatever was wrong with one thing, the answers to all others are still to be stored: it ends as if it were alone. Through
 * the log, which knows what not to say: Node itself would print an error with all that hangs on it.
 */
function breakOff(error: unknown): void {
  log.error({ code: 'courier.broken', err: error }, 'the courier takes nothing new any more')
  setImmediate(() => setImmediate(() => process.connected && process.disconnect()))
}

async function openWork(settings: CourierSettings, log: Logger): Promise<Work> {
  const { provider: options, redis, dataDir, prefix, refresh } = settings
  const vault = createVault(settings.keys)
  const provider = createProviderClient({ ...options, clock: systemClock })
  // Its own claim on the private server, so that this is there, or started again, for as long as there is something to store.
  const embedded = redis.kind === 'embedded' ? await openEmbeddedRedis(dataDir, systemClock, log) : undefined
  const store = connectRedis(redis, 'steps', (error) => log.warn({ code: 'redis.error', err: error }, 'no Redis'))
  const keys = createKeys(prefix)
  const tokens = new TokenStore(store, keys)
  // It writes with its own copy of the keys. The daemon says already which ones are missing here.
  const quiet = log.child({}, { level: 'silent' })
  const reports = startWriterReports({ store, keys, vault, log: quiet }, `${hostname()} pid ${process.pid}`)
  reports.catch(breakOff)
  const deps = {
    ...{ provider, tokens, vault, settings: refresh, log, clock: systemClock },
    ...{ unstored: new Set<number>(), inFlight: new InFlight(options.connections) },
  }
  return {
    redeem: async (job) => {
      const stopRenewing = keepLease(store, tokens.leaseKey(job.hubId), job.owner, job.leaseMs)
      return redeemAndStore(deps, job).finally(stopRenewing)
    },
    skewMs: () => provider.skewMs(),
    take: ({ keys: next, clientId, clientSecret }) => {
      vault.replace(next)
      provider.replaceApp({ clientId, clientSecret: new Secret(clientSecret) })
      void reports.then(({ report }) => report()).catch(() => undefined) // The next one comes by itself.
    },
    close: async () => {
      await Promise.race([reports.then(({ stop }) => stop()), sleep(500)])
      store.disconnect()
      await embedded?.close()
    },
  }
}
