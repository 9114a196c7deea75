import type { InstallOutcome } from '../../../accounts/install.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { LineQuota, Logger } from '../../../runtime/logger.ts'
import type { InstallResult, Metrics } from '../../../runtime/metrics.ts'
import { cleanText } from '../../../text/clean-text.ts'
import type { Client } from '../../access/client.ts'

/** `too-many`: the client has sent too many codes that were refused. */
export type CallbackOutcome = InstallOutcome | { is: 'too-many'; waitMs: number }

export interface NoteDeps {
  metrics: Pick<Metrics, 'installs'>
  /** How many of them may be logged. */
  quota: LineQuota
  clock: Clock
  log: Logger
}

/** Counts an install that came to its end; one that failed is a line of the log. */
export function noteInstall({ metrics, quota, clock, log }: NoteDeps, outcome: CallbackOutcome, from: Client): void {
  const result = resultOf(outcome)
  metrics.installs.inc({ outcome: result })
  if (result === 'connected' || result === 'reconnected') return
  const unlogged = quota.take(clock.now())
  if (unlogged === undefined) return
  const facts = { outcome: result, address: from.forwardedFor ?? from.peer, reason: reasonOf(outcome), unlogged }
  if (result === 'parked')
    log.warn({ code: 'install.parked', ...facts }, 'granted, and not confirmed by the provider: asked again')
  else log.warn({ code: 'install.failed', ...facts }, 'an install failed')
}

function resultOf(outcome: CallbackOutcome): InstallResult {
  if (outcome.is !== 'failed') return outcome.is
  return isRefusedCode(outcome) ? 'rejected' : 'failed'
}

/** The code's fault, not the provider's, by its answer. */
export function isRefusedCode(outcome: CallbackOutcome): boolean {
  if (outcome.is !== 'failed' || outcome.step !== 'token') return false
  return outcome.failure.class !== 'transient' && outcome.failure.class !== 'parked'
}

function reasonOf(outcome: CallbackOutcome): string | undefined {
  if ('failure' in outcome) return outcome.failure.message
  if (outcome.is === 'other-account') return `account ${outcome.hubId} was chosen, not ${outcome.wanted}`
  return outcome.is === 'refused' ? cleanText(outcome.reason, 80) : undefined
}
