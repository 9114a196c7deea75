import { type Coverage, type CoverageSettings, coverageShare } from '../limits/coverage.ts'
import { cleanText } from '../text/clean-text.ts'
import { countOf, formatCount, formatPercent, formatSpan } from '../text/format-number.ts'

/** What is checked before the service outside gets a good ping. Moments in ms; null = there is none. */
export interface HeartbeatFacts {
  now: number
  coverage: Coverage
  tokens: {
    /** Accounts whose tokens are kept. */
    kept: number
    /** Of these, those whose refresh has been due for longer than the bound. */
    overdue: number
    /** Those whose refreshes fail. */
    failing: number
    /** Since when the token endpoint fails for all accounts, and why. */
    trouble: { since: number; cause: string } | null
  }
  alerts: {
    /** When the oldest entry of the outbox was committed. */
    oldestEntryAt: number | null
    /** When the group that should have been closed first should have been. */
    groupDueAt: number | null
    /** When the delivery whose attempt should have been made first should have had it. */
    attemptDueAt: number | null
    /** The oldest message that still waits for a receiver to take it. */
    oldestDelivery: { receiver: string; createdAt: number } | null
  }
  /** When a sweep of each kind last finished, or was first expected. */
  sweeps: Record<string, number>
}

export interface HeartbeatBounds {
  coverage: CoverageSettings
  /** Share of the accounts whose tokens must be refreshed in time, 0 to 1. */
  tokens: number
  /** How long a refresh may be due, and the token endpoint be in trouble. */
  overdueRefreshMs: number
  /** How long an alert may be on its way. */
  outboxAgeMs: number
  /** The longest pause that there should be between two sweeps of a kind. */
  sweeps: Record<string, number>
}

export type HeartbeatVerdict = { ok: true } | { ok: false; reasons: string[] }

/** One account, or two, have alerts of their own; unless that is all there are. */
const LEAST_ACCOUNTS = 3
/** A sweep may be missed, or take its time. */
const PERIODS = 3
const GRACE_MS = 15_000

/** Whether all is within bounds; where it is not, what to check, one sentence each. No account is named. */
export function judgeHeartbeat(facts: HeartbeatFacts, bounds: HeartbeatBounds): HeartbeatVerdict {
  const reasons = [
    ...judgeReadings(facts, bounds),
    ...judgeTokens(facts, bounds),
    ...judgeAlerts(facts, bounds),
    ...judgeSweeps(facts, bounds),
  ]
  return reasons.length === 0 ? { ok: true } : { ok: false, reasons }
}

function* judgeReadings({ coverage }: HeartbeatFacts, { coverage: bound }: HeartbeatBounds): Iterable<string> {
  const { polled, stale } = coverage
  if (!areTooMany(stale, polled, bound.objective)) return
  yield `${countOf(stale, 'account')} of ${formatCount(polled)} have had no reading for ${formatSpan(bound.freshnessMs)}: ` +
    `${formatPercent((coverageShare(coverage) ?? 0) * 100)} are covered, ${formatPercent(bound.objective * 100)} should be. ` +
    'plimsoll accounts list --stale names them.'
}

function* judgeTokens({ now, tokens }: HeartbeatFacts, bounds: HeartbeatBounds): Iterable<string> {
  const { kept, overdue, failing, trouble } = tokens
  if (trouble !== null && now - trouble.since > bounds.overdueRefreshMs) {
    yield `The token endpoint has been in trouble for ${formatSpan(now - trouble.since)} (${trouble.cause}): no account can ` +
      "be refreshed. See plimsoll status, and the provider's status page."
  }
  if (areTooMany(overdue, kept, bounds.tokens)) {
    yield `Token refreshes of ${formatCount(overdue)} of ${countOf(kept, 'account')} have been overdue for ` +
      `${formatSpan(bounds.overdueRefreshMs)} or longer. See plimsoll status for the token endpoint, and the daemon's log.`
  }
  if (areTooMany(failing, kept, bounds.tokens)) {
    yield `Token refreshes of ${formatCount(failing)} of ${countOf(kept, 'account')} fail: plimsoll accounts list --state failing names them.`
  }
}

function* judgeAlerts({ now, alerts }: HeartbeatFacts, { outboxAgeMs }: HeartbeatBounds): Iterable<string> {
  const isOld = (at: number | null): at is number => at !== null && now - at > outboxAgeMs
  const { oldestEntryAt, groupDueAt, attemptDueAt, oldestDelivery } = alerts
  if (isOld(oldestEntryAt)) {
    yield `An alert has waited in the outbox for ${formatSpan(now - oldestEntryAt)}: no daemon hands it on. See the daemon's log.`
  }
  if (isOld(groupDueAt)) {
    yield `A group of alerts should have been sent ${formatSpan(now - groupDueAt)} ago: no daemon closes it. See the daemon's log.`
  }
  if (isOld(attemptDueAt)) {
    yield `A message should have been sent ${formatSpan(now - attemptDueAt)} ago, and no daemon tries to. See the daemon's log.`
  }
  if (oldestDelivery !== null && isOld(oldestDelivery.createdAt)) {
    yield `The receiver ${cleanText(oldestDelivery.receiver, 64)} has not taken a message for ` +
      `${formatSpan(now - oldestDelivery.createdAt)}: see its answers on the page of deliveries, or run plimsoll doctor.`
  }
}

function* judgeSweeps({ now, sweeps }: HeartbeatFacts, bounds: HeartbeatBounds): Iterable<string> {
  for (const [kind, pauseMs] of Object.entries(bounds.sweeps)) {
    const allowedMs = PERIODS * pauseMs + GRACE_MS
    const quietMs = now - (sweeps[kind] ?? now)
    if (quietMs <= allowedMs) continue
    yield `Sweeps for ${kind} have not finished for ${formatSpan(quietMs)}, at most ${formatSpan(allowedMs)} is expected. ` +
      "See the daemon's log, and restart it."
  }
}

/** In whole accounts above a share: compared as counts, since 1 - 0.95 is not quite 0.05. */
function areTooMany(accounts: number, all: number, objective: number): boolean {
  return accounts > all * (1 - objective) + 1e-9 && (accounts >= LEAST_ACCOUNTS || accounts >= all)
}

/** The text of a good ping. */
export function describeFacts({ now, coverage, tokens, alerts }: HeartbeatFacts): string {
  const { polled, stale } = coverage
  const { createdAt } = alerts.oldestDelivery ?? {}
  return [
    polled === 0
      ? 'No account is polled.'
      : `${formatCount(polled - stale)} of ${countOf(polled, 'account')} have a fresh reading.`,
    `Token refreshes: ${formatCount(tokens.overdue)} overdue, ${formatCount(tokens.failing)} failing.`,
    createdAt === undefined ? 'No message waits.' : `The oldest message has waited for ${formatSpan(now - createdAt)}.`,
  ].join('\n')
}
