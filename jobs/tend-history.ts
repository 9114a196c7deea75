import { forecastAccount } from '../src/limits/forecast/forecast-account.ts'
import type { AccountHistory } from '../src/limits/history/history.ts'
import { thinOut } from '../src/limits/history/resolutions.ts'
import type { JobDeps } from './job-deps.ts'

export type TendWork = Pick<JobDeps, 'due' | 'queues' | 'clock' | 'historyKeep' | 'metrics' | 'repair' | 'log'> &
  Parameters<typeof forecastAccount>[0]

/** Accounts of a chunk, and how long it may take: a job that doesn't end counts as stuck. */
const CHUNK = 200
const CHUNK_MS = 20_000
/** Between two chunks: there is a day for all of them, and polls and refreshes go first. */
const BREATHER_MS = 500
const DAY_MS = 86_400_000

/** One chunk at a time, that the slow work holds up no other. */
export async function sweepHistory({
  queues,
  due,
  clock,
}: Pick<JobDeps, 'due' | 'queues' | 'clock'>): Promise<undefined> {
  const queue = queues.tendHistory
  // One job at a time, by its id.
  if ((await due.countDue('history', clock.now())) > 0)
    await queue.add(queue.name, {}, { jobId: 'next', timestamp: clock.now() })
}

/** The next accounts, in any state, one after the other. */
export async function tendHistory(deps: TendWork, signal: AbortSignal): Promise<void> {
  const { due, queues, clock } = deps
  const end = clock.now() + CHUNK_MS
  const { hubIds, until } = await due.claim('history', clock.now(), CHUNK)
  const left = [...hubIds]
  while (left.length > 0 && clock.now() < end && !signal.aborted) {
    const hubId = left.shift() as number
    await tendAccount(deps, hubId)
    await due.moveClaims('history', [hubId], until, clock.now() + DAY_MS)
  }
  await due.moveClaims('history', left, until, clock.now())
  if (hubIds.length === CHUNK || left.length > 0) await queues.wake('tend-history', clock.now() + BREATHER_MS)
}

/** Once a day its history is thinned out and its forecast made; where one fails, the other is done all the same. */
async function tendAccount(deps: TendWork, hubId: number): Promise<void> {
  const { history, metrics, clock, log } = deps
  const failed = (step: string) => (error: unknown) => {
    log.error({ code: 'tend.error', hubId, step, err: error }, 'the history of this account could not be tended')
    metrics.tended.inc({ step, outcome: 'failed' })
  }
  const done = (step: string) => (outcome: string) => metrics.tended.inc({ step, outcome })
  const unread = (error: unknown) => {
    failed('read')(error)
    return deps.repair(hubId)
  }
  const record = await history.changes(hubId).catch(unread).catch(failed('read'))
  if (record === undefined) return
  await thinOutRecord(deps, hubId, record).then(done('thin-out'), failed('thin-out'))
  await forecastAccount(deps, hubId, clock.now()).then(done('forecast'), failed('forecast'))
}

/** Replaces nothing where a poll wrote meanwhile: the next day comes again. */
async function thinOutRecord({ history, historyKeep, clock }: TendWork, hubId: number, record: AccountHistory) {
  const thinned = thinOut(record.current, record.changes, clock.now(), historyKeep)
  // Not more than one record: no change came since the last time.
  if (record.records <= 1 && thinned.length === record.changes.length) return 'unchanged'
  return history.replace(hubId, record, thinned)
}
