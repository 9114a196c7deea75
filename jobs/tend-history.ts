import type { Registry } from '../src/accounts/registry.ts'
import { type ForecastDeps, forecastAccount } from '../src/limits/forecast/forecast-account.ts'
import { isFormat1 } from '../src/limits/history/format-1.ts'
import type { AccountHistory } from '../src/limits/history/history.ts'
import type { TendingRounds } from '../src/limits/history/tending-rounds.ts'
import { type Keep, thinOut } from '../src/limits/history/thin-out.ts'
import type { Clock } from '../src/runtime/clock.ts'
import type { Logger } from '../src/runtime/logger.ts'
import type { Metrics } from '../src/runtime/metrics.ts'
import type { Queues, TendJob } from './queues.ts'

export interface SweepHistoryDeps {
  rounds: TendingRounds
  queues: Queues
  clock: Clock
}

export interface TendHistoryDeps extends SweepHistoryDeps, ForecastDeps {
  registry: Registry
  historyKeep: Keep
  metrics: Metrics
  log: Logger
}

/** An account whose turn it is, with its record as it was read. */
export interface TendedAccount {
  hubId: number
  now: number
  record: AccountHistory
}

/** What is done for each account once a day, in this order. One that fails stops no other. Returns the outcome. */
const STEPS: Record<string, (deps: TendHistoryDeps, account: TendedAccount) => Promise<string>> = {
  'thin-out': thinOutRecord,
  forecast: (deps, { hubId, now }) => forecastAccount(deps, hubId, now),
}

/** Accounts of a chunk, and how long it may take: a job that doesn't end looks stuck. */
const CHUNK = 200
const CHUNK_MS = 20_000
/** Between two chunks: there is a day for all of them, and polls and refreshes go first. */
const BREATHER_MS = 500

/** Hands on the partitions whose turn it is; one chunk at a time, that the slow work holds up no other. */
export async function sweepHistory({ queues, rounds, clock }: SweepHistoryDeps): Promise<undefined> {
  const queue = queues.tendHistory
  const partitions = await rounds.due(clock.now())
  // One job at a time, by its id.
  if (partitions.length > 0) await queue.add(queue.name, { partitions }, { jobId: 'next' })
}

/** The next accounts of these partitions, whatever their state, one after the other. */
export async function tendHistory(deps: TendHistoryDeps, { partitions }: TendJob, signal: AbortSignal): Promise<void> {
  const chunk = { room: CHUNK, until: deps.clock.now() + CHUNK_MS, signal }
  for (const partition of partitions) {
    if (isOver(deps, chunk)) break
    await tendPartition(deps, partition, chunk)
  }
  if (isOver(deps, chunk)) await deps.queues.wake('tend-history', deps.clock.now() + BREATHER_MS)
}

interface Chunk {
  room: number
  until: number
  signal: AbortSignal
}

function isOver({ clock }: TendHistoryDeps, { room, until, signal }: Chunk): boolean {
  return room <= 0 || clock.now() >= until || signal.aborted
}

async function tendPartition(deps: TendHistoryDeps, partition: number, chunk: Chunk): Promise<void> {
  const round = await deps.rounds.read(partition, deps.clock.now())
  if (round === undefined) return
  const hubIds = await deps.registry.inPartition(partition, chunk.room, round.after)
  let isWhole = hubIds.length < chunk.room
  for (const hubId of hubIds) {
    if (isOver(deps, chunk)) {
      isWhole = false
      break
    }
    await tendAccount(deps, hubId)
    round.after = hubId
    chunk.room--
  }
  await deps.rounds.write(partition, { day: round.day, after: isWhole ? 'over' : round.after })
}

async function tendAccount(deps: TendHistoryDeps, hubId: number): Promise<void> {
  const failed = (step: string) => (error: unknown) => {
    deps.log.error({ code: 'tend.error', hubId, step, err: error }, 'the history of this account could not be tended')
    deps.metrics.tended.inc({ step, outcome: 'failed' })
  }
  await deps.history.changes(hubId).then(async (record) => {
    if (record === undefined) return
    const account = { hubId, now: deps.clock.now(), record }
    for (const [step, tend] of Object.entries(STEPS)) {
      await tend(deps, account).then((outcome) => deps.metrics.tended.inc({ step, outcome }), failed(step))
    }
  }, failed('read'))
}

/** Where a poll wrote meanwhile, nothing is replaced: the next day comes again. */
async function thinOutRecord({ history, historyKeep }: TendHistoryDeps, { hubId, now, record }: TendedAccount) {
  const thinned = thinOut(record.current, record.changes, now, historyKeep)
  if (thinned.length === record.changes.length && !isFormat1(record.stored)) return 'unchanged'
  return history.replace(hubId, record, thinned)
}
