import {
  type AcknowledgeOutcome,
  acknowledgeAlert,
  type SeenAlert,
  type UnacknowledgeOutcome,
  unacknowledgeAlert,
} from '../alerts/acknowledge.ts'
import { lookAgain } from '../alerts/groups/held.ts'
import { matcherText, type Silence } from '../alerts/silence.ts'
import { type EndedSilence, endSilence, type HeldAlerts } from '../alerts/silence-store.ts'
import { wakeNow } from './account-actions.ts'
import type { Parts } from './parts.ts'

/** From now on alerts that it covers are held back until it ends. */
export async function silenceAlerts(parts: Parts, given: Omit<Silence, 'id'>): Promise<Silence> {
  const silence = await parts.silences.add(given)
  const { id, author, matchers } = silence
  parts.log.info(
    { code: 'silence.added', silence: id, by: author, matchers: matchers.map(matcherText), endsAt: silence.endsAt },
    'alerts are silenced',
  )
  return silence
}

/** Ends it now; alerts that still fire are sent. */
export async function unsilence(parts: Parts, id: string): Promise<EndedSilence> {
  const ended = await endSilence({ silences: parts.silences, held: heldAlerts(parts) }, id, parts.clock.now())
  if (ended.is === 'ended') parts.log.info({ code: 'silence.ended', silence: id }, 'a silence was ended early')
  return ended
}

export async function acknowledge(
  parts: Parts,
  seen: SeenAlert,
  by: { by: string; comment?: string | undefined },
): Promise<AcknowledgeOutcome> {
  const { config, clock, log } = parts
  const deps = { ...parts, acknowledgeForMs: config.alerts.acknowledgeFor }
  const outcome = await acknowledgeAlert(deps, seen, by, clock.now())
  if (outcome.is === 'acknowledged') {
    log.info({ code: 'alert.acknowledged', alert: seen.id, hubId: seen.hubId, by: by.by }, 'an alert was acknowledged')
  }
  return outcome
}

export async function unacknowledge(
  parts: Parts,
  seen: Pick<SeenAlert, 'id' | 'hubId'>,
): Promise<UnacknowledgeOutcome> {
  const outcome = await unacknowledgeAlert(parts, seen, parts.clock.now())
  if (outcome.is === 'withdrawn') {
    const facts = { code: 'alert.unacknowledged', alert: seen.id, hubId: seen.hubId } as const
    parts.log.info(facts, 'an acknowledgement was taken back')
  }
  return outcome
}

/** The sweep of alerts handles them, and need not wait for the clock. */
function heldAlerts(parts: Parts): HeldAlerts {
  return {
    lookAgain: async (now) => {
      await lookAgain(parts, now)
      await Promise.all(wakeNow(parts, 'alerts'))
    },
  }
}
