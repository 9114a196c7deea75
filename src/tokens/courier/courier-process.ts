import { setTimeout as sleep } from 'node:timers/promises'
import { createLogger } from '../../runtime/logger.ts'
import type { RedeemJob } from '../redeem.ts'
import { type CourierSettings, type FromCourier, inBatches, settingsFrom, type ToCourier } from './messages.ts'
import { openWork, type Work } from './work.ts'

/**
 * The courier: a process beside the daemon that redeems refresh tokens and stores what comes back, so that a daemon which
 * is killed takes no answer along. It lives as long as the channel to its daemon is open, and then until nothing is under
 * way any more.
 */
let opening: Promise<Work> | undefined
let underWay = 0
let isEnding = false

/** As long as a refused write is tried again: nothing that is under way can take longer. */
const LONGEST_ALONE_MS = 11 * 60_000
const CLOSE_WITHIN_MS = 3_000

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
      void opening?.then((work) => {
        work.take(item)
        tell({ is: 'taken' })
      }, breakOff)
      break
    case 'job':
      void carryOut(item.id, item.job)
  }
}

async function begin(settings: CourierSettings): Promise<void> {
  log.level = settings.logLevel
  opening = openWork(settings, log, (call) => tell({ is: 'called', call }))
  await opening
  tell({ is: 'ready' })
}

async function carryOut(id: number, job: RedeemJob): Promise<void> {
  underWay++
  try {
    const work = await opening
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
  if (underWay > 0) void opening?.then((work) => work.outliveDaemon(), breakOff)
  endIfIdle()
}

function endIfIdle(): void {
  if (underWay > 0 || isEnding) return
  isEnding = true
  const closed = opening?.then((work) => work.close())
  void Promise.race([closed, sleep(CLOSE_WITHIN_MS)])
    .catch(() => undefined)
    .then(() => process.exit(0))
}

/**
 * Whatever was wrong with one thing, the answers to all others are still to be stored: it ends as if it were alone. Through
 * the log, which knows what not to say: Node itself would print an error with all that hangs on it.
 */
function breakOff(error: unknown): void {
  log.error({ code: 'courier.broken', err: error }, 'the courier takes nothing new any more')
  setImmediate(() => setImmediate(() => process.connected && process.disconnect()))
}
