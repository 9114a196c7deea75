import { unknownName } from '../../config/problems.ts'
import {
  type AcknowledgeOutcome,
  acknowledgeAlert,
  type SeenAlert,
  type UnacknowledgeOutcome,
  unacknowledgeAlert,
} from '../alerts/acknowledge.ts'
import { checkHeldNow } from '../alerts/groups/held.ts'
import { matchersText, type Silence } from '../alerts/silence.ts'
import { type EndedSilence, endSilence, type HeldAlerts } from '../alerts/silence-store.ts'
import type { Replay, Replayed } from '../delivery/deliveries.ts'
import { wakeNow } from './account-actions.ts'
import type { Services } from './services.ts'

/** From now on alerts that it covers are held back until it ends. */
export async function silenceAlerts(services: Services, given: Omit<Silence, 'id'>): Promise<Silence> {
  const silence = await services.silences.add(given)
  const { id, author, matchers } = silence
  services.log.info(
    {
      code: 'silence.added',
      silence: id,
      by: author,
      matchers: matchers.map((one) => matchersText([one])),
      endsAt: silence.endsAt,
    },
    'alerts are silenced',
  )
  return silence
}

/** Ends it now; alerts that still fire are sent. */
export async function unsilence(services: Services, id: string): Promise<EndedSilence> {
  const ended = await endSilence({ silences: services.silences, held: heldAlerts(services) }, id, services.clock.now())
  if (ended.is === 'ended') services.log.info({ code: 'silence.ended', silence: id }, 'a silence was ended early')
  return ended
}

export async function acknowledge(
  services: Services,
  seen: SeenAlert,
  by: { by: string; comment?: string | undefined },
): Promise<AcknowledgeOutcome> {
  const { config, clock, log } = services
  const deps = { ...services, acknowledgeForMs: config.alerts.acknowledgeFor }
  const outcome = await acknowledgeAlert(deps, seen, by, clock.now())
  if (outcome.is === 'acknowledged') {
    log.info({ code: 'alert.acknowledged', alert: seen.id, hubId: seen.hubId, by: by.by }, 'an alert was acknowledged')
  }
  return outcome
}

export async function unacknowledge(
  services: Services,
  seen: Pick<SeenAlert, 'id' | 'hubId'>,
): Promise<UnacknowledgeOutcome> {
  const outcome = await unacknowledgeAlert(services, seen, services.clock.now())
  if (outcome.is === 'withdrawn') {
    const facts = { code: 'alert.unacknowledged', alert: seen.id, hubId: seen.hubId } as const
    services.log.info(facts, 'an acknowledgement was taken back')
  }
  return outcome
}

/** The sweep of alerts handles them, and need not wait for the clock. */
function heldAlerts(services: Services): HeldAlerts {
  return {
    checkHeldNow: async (now) => {
      await checkHeldNow(services, now)
      await wakeNow(services, 'alerts')
    },
  }
}

/** Sends again what was given up, each under its own id, for another three days; the sweep need not wait for the clock. */
export async function replayGivenUp(services: Services, wanted: Replay): Promise<Replayed> {
  const { deliveries, clock, config, log } = services
  const receiver = 'ids' in wanted ? undefined : wanted.receiver
  const replayed = await deliveries.replay(wanted, clock.now())
  if (replayed > 0) {
    await wakeNow(services, 'alerts')
    log.info({ code: 'delivery.replayed', count: replayed }, 'deliveries that were given up are on their way again')
  }
  const known = Object.keys(config.receivers)
  // One that the config no longer has may have deliveries that were given up.
  if (replayed === 0 && receiver !== undefined && !known.includes(receiver)) {
    return { is: 'unknown-receiver', why: unknownName(receiver, known, 'no receiver has this name') }
  }
  const off = Object.keys(await deliveries.disabled())
  return { is: 'replayed', replayed, disabled: off.filter((name) => receiver === undefined || name === receiver) }
}
