import { type Identified, identifyAccount } from '../src/accounts/identify-account.ts'
import { beginUninstall, uninstallAfterRefusal } from '../src/accounts/uninstall.ts'
import { refreshClaimMs } from '../src/tokens/redeem.ts'
import { type Occasion, type RefreshOutcome, refreshTokensOf } from '../src/tokens/refresh-account.ts'
import type { RefreshWork } from './job-deps.ts'
import { accountFailed, workOff } from './work-off.ts'

/** One account's; also for what needs a token, and starts no uninstall. */
type RefreshOneWork = Omit<RefreshWork, 'closeAlerts' | 'uninstallAfterRefusedMs' | 'putAside'>
type Refreshed = Extract<RefreshOutcome, { is: 'refreshed' }>
type Failed = Extract<RefreshOutcome, { is: 'failed' }>

/** Calls of so long are claimed ahead: where the endpoint is slow, the order is decided as late as can be. */
export const AHEAD_MS = 500

/** Accounts whose tokens are due, as many as the token endpoint takes soon; one as a trial while it fails. */
export function refreshTokens(deps: RefreshWork, signal: AbortSignal): Promise<void> {
  const { due, tokens, endpoint, clock } = deps
  const batch = endpoint.nextBatch()
  return workOff(deps, signal, {
    atOnce: deps.inFlight.limit,
    claim: async (most) => {
      const { calls, isProbe } = await endpoint.room(AHEAD_MS, undefined)
      // Any one as a trial: if always the same is dead, the end of the trouble would never be seen.
      const first = isProbe ? deps.random() : 0
      return calls === 0 ? [] : tokens.claim(Math.min(most, calls), refreshClaimMs(deps.callMs), first)
    },
    work: async (claimed) => {
      const { hubId } = claimed
      const outcome = await refreshed(deps, hubId, { batch, claimed })
      // Not at once: a job would claim one after the other, and find for each that the endpoint is closed.
      if (outcome.is === 'waiting') await due.move('refresh', claimed, Math.max(outcome.until, clock.now() + AHEAD_MS))
      // Another worker may have it by now; or an alert was not as it was read.
      else if (outcome.is === 'lost') await due.move('refresh', claimed, clock.now() + AHEAD_MS)
      else if (outcome.is === 'failed') await uninstallIfRefusedLong(deps, hubId, outcome)
    },
    failed: ({ hubId }, error) => accountFailed(deps, 'refresh', hubId, error),
  })
}

/** One account, counted and logged, for a request for a token between two ticks, or by an operator's decision. */
export function refreshOne(
  deps: RefreshOneWork,
  hubId: number,
  refused?: string,
  by?: 'decided',
): Promise<RefreshOutcome> {
  return refreshed(deps, hubId, { refused, isDecided: by === 'decided' })
}

async function refreshed(deps: RefreshOneWork, hubId: number, occasion: Occasion): Promise<RefreshOutcome> {
  const outcome = await deps.movement.inHand('refresh', hubId, () => refreshTokensOf(deps, hubId, occasion))
  deps.metrics.refreshes.inc({ outcome: outcome.is })
  if (outcome.is === 'refreshed') observeRefresh(deps, hubId, outcome)
  if (outcome.is === 'failed' && outcome.alerted) await deps.queues.wake('alerts', deps.clock.now())
  if ((outcome.is === 'refreshed' || outcome.is === 'fresh') && outcome.isUnidentified) {
    await identifyOne(deps, hubId, occasion.batch)
  }
  return outcome
}

/** Asks whose an imported account's tokens are, if that is not known yet; then it is polled without waiting for the clock. */
export async function identifyOne(
  deps: RefreshOneWork,
  hubId: number,
  batch?: number,
): Promise<Identified | undefined> {
  const outcome = await deps.movement.inHand('identify', hubId, () => identifyAccount(deps, hubId, batch))
  const now = deps.clock.now()
  if (outcome?.is === 'foreign' || (outcome?.is === 'stored' && outcome.alerted)) await deps.queues.wake('alerts', now)
  if (outcome?.is === 'stored') await deps.queues.wake('poll-limits', now)
  return outcome
}

function observeRefresh({ metrics, log }: RefreshOneWork, hubId: number, outcome: Refreshed): void {
  const { unstoredMs, lateMs, leftMs, expired } = outcome
  if (expired) {
    metrics.tokensExpired.inc()
    log.warn({ code: 'token.expired', hubId, lateMs }, 'the token had expired before its refresh')
  }
  metrics.tokenStore.observe(unstoredMs / 1_000)
  if (leftMs === null) return
  metrics.refreshLateness.observe(lateMs / 1_000)
  metrics.refreshHeadroom.observe(Math.max(0, leftMs) / 1_000)
}

async function uninstallIfRefusedLong(deps: RefreshWork, hubId: number, outcome: Failed): Promise<void> {
  const now = deps.clock.now()
  const request = uninstallAfterRefusal(outcome, deps.uninstallAfterRefusedMs, now)
  if (request === undefined || (await beginUninstall(deps, hubId, request)) !== 'begun') return
  await Promise.all([deps.queues.wake('uninstall', now), deps.queues.wake('alerts', now)])
}
