import { forecastAccount } from '../src/limits/forecast/forecast-account.ts'
import type { AccountHistory } from '../src/limits/history/history.ts'
import { thinOut } from '../src/limits/history/resolutions.ts'
import type { JobDeps } from './job-deps.ts'
import { workOff } from './work-off.ts'

export type TendWork = Pick<JobDeps, 'due' | 'clock' | 'goesOn' | 'historyKeep' | 'metrics' | 'putAside' | 'log'> &
  Parameters<typeof forecastAccount>[0]

/** There is a day for all of them, and polls and refreshes go first. */
const AT_ONCE = 1
/** Far longer than one takes. */
const CLAIM_MS = 60_000
const DAY_MS = 86_400_000

/** The histories that are due, of accounts in any state, one after the other. */
export function tendHistory(deps: TendWork, signal: AbortSignal): Promise<void> {
  const { due, clock, log } = deps
  return workOff(deps, signal, {
    atOnce: AT_ONCE,
    claim: (most) => due.claim('history', most, CLAIM_MS),
    work: async (account) => {
      await tendAccount(deps, account.hubId)
      await due.move('history', account, clock.now() + DAY_MS)
    },
    failed: async ({ hubId }, err) => log.error({ code: 'tend.error', hubId, err }, 'this history was not planned'),
  })
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
    return deps.putAside(hubId)
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
