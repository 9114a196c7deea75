import { forecastAccount } from '../src/limits/forecast/forecast-account.ts'
import type { AccountHistory } from '../src/limits/history/history.ts'
import { thinOut } from '../src/limits/history/resolutions.ts'
import type { JobDeps } from './job-deps.ts'
import type { TendJob } from './queues.ts'

type SweepHistoryWork = Pick<JobDeps, 'rounds' | 'queues' | 'clock'>

export type TendWork = Pick<
  JobDeps,
  'rounds' | 'queues' | 'clock' | 'registry' | 'historyKeep' | 'metrics' | 'repair' | 'log'
> &
  Parameters<typeof forecastAccount>[0]

/** Accounts of a chunk, and how long it may take: a job that doesn't end counts as stuck. */
const CHUNK = 200
const CHUNK_MS = 20_000
/** Between two chunks: there is a day for all of them, and polls and refreshes go first. */
const BREATHER_MS = 500

/** Hands on the partitions whose turn it is; one chunk at a time, that the slow work holds up no other. */
export async function sweepHistory({ queues, rounds, clock }: SweepHistoryWork): Promise<undefined> {
  const queue = queues.tendHistory
  const partitions = await rounds.due(clock.now())
  // One job at a time, by its id.
  if (partitions.length > 0) await queue.add(queue.name, { partitions }, { jobId: 'next', timestamp: clock.now() })
}

/** The next accounts of these partitions, in any state, one after the other. */
export async function tendHistory(deps: TendWork, { partitions }: TendJob, signal: AbortSignal): Promise<void> {
  const { rounds, registry, queues, clock } = deps
  const until = clock.now() + CHUNK_MS
  let room = CHUNK
  const isOver = () => room <= 0 || clock.now() >= until || signal.aborted
  for (const partition of partitions) {
    const round = isOver() ? undefined : await rounds.read(partition, clock.now())
    if (round === undefined) continue
    const { day } = round
    const hubIds = await registry.inPartition(partition, room, round.after)
    let after: number | 'over' = hubIds.length < room ? 'over' : (hubIds.at(-1) ?? 'over')
    for (const [n, hubId] of hubIds.entries()) {
      if (isOver()) {
        after = hubIds[n - 1] ?? round.after
        break
      }
      await tendAccount(deps, hubId)
      room--
    }
    await rounds.write(partition, day, after)
  }
  if (isOver()) await queues.wake('tend-history', clock.now() + BREATHER_MS)
}

/** Once a day its history is thinned out and its forecast made; where one fails, the other is done all the same. */
async function tendAccount(deps: TendWork, hubId: number): Promise<void> {
  const { history, metrics, clock, log } = deps
  const failed = (step: string) => (error: unknown) => {
    log.error({ code: 'tend.error', hubId, step, err: error }, 'the history of this account could not be tended')
    metrics.tended.inc({ step, outcome: 'failed' })
  }
  const done = (step: string) => (outcome: string) => metrics.tended.inc({ step, outcome })
  const record = await history.changes(hubId).catch(failed('read'))
  // Once a day all that is stored of it is read: also what no poll had to read, because nothing changed.
  await deps.repair(hubId).catch(failed('read'))
  if (record === undefined) return
  await thinOutRecord(deps, hubId, record).then(done('thin-out'), failed('thin-out'))
  await forecastAccount(deps, hubId, clock.now()).then(done('forecast'), failed('forecast'))
}

/** Replaces nothing where a poll wrote meanwhile: the next day comes again. */
async function thinOutRecord({ history, historyKeep, clock }: TendWork, hubId: number, record: AccountHistory) {
  const thinned = thinOut(record.current, record.changes, clock.now(), historyKeep)
  if (thinned.length === record.changes.length) return 'unchanged'
  return history.replace(hubId, record, thinned)
}
