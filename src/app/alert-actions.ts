import { unknownName } from '../../config/schema/problems.ts'
import {
  type AcknowledgeOutcome,
  type AlertAtLevel,
  storeAcknowledgement,
  type UnacknowledgeOutcome,
  withdrawAcknowledgement,
} from '../alerts/acknowledge.ts'
import { recheckWaiting } from '../alerts/sending/read-news.ts'
import { matchersText, type Silence } from '../alerts/silence.ts'
import { type EndedSilence, endStoredSilence, type HeldAlerts } from '../alerts/silence-store.ts'
import type { Who } from '../audit/audited.ts'
import type { Replay, Replayed } from '../delivery/deliveries.ts'
import { NO_ACCOUNT } from '../redis/steps.ts'
import { countOf } from '../text/format-number.ts'
import { iso } from '../text/format-time.ts'
import { wakeNow } from './account-actions.ts'
import type { Services } from './services.ts'

/*
 * The actions of pages, API and commands on alerts: carried out here and nowhere else, with a note in the audit. Each takes
 * the person or program that asks, which may act in another one's name.
 */

/** From now on alerts that it covers are held back until it ends. */
export async function silenceAlerts(services: Services, given: Omit<Silence, 'id'>, who: Who): Promise<Silence> {
  const silence = await services.silences.add(given)
  const { id, author, comment, endsAt } = silence
  const matchers = silence.matchers.map((one) => matchersText([one]))
  const detail = `${matchers.join(', ')} until ${iso(endsAt)}${inTheNameOf(author, who)}: ${comment}`
  const deed = { action: 'silence.added', who, subject: id, detail } as const
  await services.audit.note(deed, { silence: id, author, matchers, endsAt })
  return silence
}

function inTheNameOf(author: string, { name }: Who): string {
  return author === name ? '' : ` by ${author}`
}

/** Ends it now; alerts that still fire are sent. */
export async function unsilence(services: Services, id: string, who: Who): Promise<EndedSilence> {
  const ended = await endStoredSilence(
    { silences: services.silences, held: heldAlerts(services) },
    id,
    services.clock.now(),
  )
  if (ended.is === 'ended') await services.audit.note({ action: 'silence.ended', who, subject: id }, { silence: id })
  return ended
}

export async function acknowledge(
  services: Services,
  seen: AlertAtLevel,
  by: { by: string; comment?: string | undefined },
  who: Who,
): Promise<AcknowledgeOutcome> {
  const { config, clock, audit } = services
  const deps = { ...services, acknowledgeForMs: config.alerts.acknowledgeFor }
  const outcome = await storeAcknowledgement(deps, seen, by, clock.now())
  if (outcome.is === 'acknowledged') {
    await wakeNow(services, 'alerts')
    const detail = `${inTheNameOf(by.by, who).trim()} ${by.comment ?? ''}`.trim()
    const deed = { action: 'alert.acknowledged', who, hubId: accountOf(seen), subject: seen.id, detail } as const
    await audit.note(deed, { alert: seen.id, author: by.by })
  }
  return outcome
}

export async function unacknowledge(
  services: Services,
  seen: Pick<AlertAtLevel, 'id' | 'hubId'>,
  who: Who,
): Promise<UnacknowledgeOutcome> {
  const outcome = await withdrawAcknowledgement(services, seen, services.clock.now())
  if (outcome.is === 'withdrawn') {
    const deed = { action: 'alert.unacknowledged', who, hubId: accountOf(seen), subject: seen.id } as const
    await services.audit.note(deed, { alert: seen.id })
  }
  return outcome
}

/** An alert about all accounts is no account's. */
function accountOf({ hubId }: Pick<AlertAtLevel, 'hubId'>): number | undefined {
  return hubId === NO_ACCOUNT ? undefined : hubId
}

/** The sweep of alerts handles them, and need not wait for the clock. */
function heldAlerts(services: Services): HeldAlerts {
  return {
    recheckWaiting: async (now) => {
      await recheckWaiting(services, now)
      await wakeNow(services, 'alerts')
    },
  }
}

/** Sends again what was given up, each under its own id, for another three days; the sweep need not wait for the clock. */
export async function replayGivenUp(services: Services, wanted: Replay, who: Who): Promise<Replayed> {
  const { deliveries, clock, config, audit } = services
  const { receiver } = wanted
  const replayed = await deliveries.replay(wanted, clock.now())
  if (replayed > 0) {
    await wakeNow(services, 'alerts')
    const deed = {
      action: 'delivery.replayed',
      who,
      subject: receiver,
      detail: countOf(replayed, 'delivery', 'deliveries'),
    } as const
    await audit.note(deed, { count: replayed })
  }
  const known = Object.keys(config.receivers)
  // One that the config no longer has may have deliveries that were given up.
  if (replayed === 0 && receiver !== undefined && !known.includes(receiver)) {
    return { is: 'unknown-receiver', why: unknownName(receiver, known, 'no receiver has this name') }
  }
  const off = Object.keys(await deliveries.disabled())
  return { is: 'replayed', replayed, disabled: off.filter((name) => receiver === undefined || name === receiver) }
}
