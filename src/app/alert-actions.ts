import { unknownName } from '../../config/schema/problems.ts'
import { type AlertAtLevel, storeAcknowledgement, withdrawAcknowledgement } from '../alerts/acknowledge.ts'
import { matchersText } from '../alerts/silence.ts'
import type { Who } from '../audit/audited.ts'
import type { Actions } from '../operations/actions.ts'
import { NO_ACCOUNT } from '../redis/steps.ts'
import { countOf } from '../text/format-number.ts'
import { iso } from '../text/format-time.ts'
import { wakeNow } from './account-actions.ts'
import type { Services } from './services.ts'

/** Actions on alerts. The caller may act in the name of another person. */
export function actionsOnAlerts(services: Services) {
  const { silences, deliveries, clock, config, audit } = services
  return {
    async silence(given, who) {
      const silence = await silences.add(given)
      const { id, author, comment, endsAt } = silence
      const matchers = silence.matchers.map((one) => matchersText([one]))
      const detail = `${matchers.join(', ')} until ${iso(endsAt)}${inTheNameOf(author, who)}: ${comment}`
      await audit.note({ action: 'silence.added', who, subject: id, detail }, { silence: id, author, matchers, endsAt })
      return silence
    },
    /** Alerts that still fire are sent. */
    async unsilence(id, who) {
      const ended = await silences.end(id, clock.now())
      await wakeNow(services, 'alerts')
      if (ended.is === 'ended') await audit.note({ action: 'silence.ended', who, subject: id }, { silence: id })
      return ended
    },
    async acknowledge(seen, by, who) {
      const deps = { ...services, acknowledgeForMs: config.alerts.acknowledgeFor }
      const outcome = await storeAcknowledgement(deps, seen, by, clock.now())
      if (outcome.is === 'acknowledged') {
        await wakeNow(services, 'alerts')
        const detail = `${inTheNameOf(by.by, who).trim()} ${by.comment ?? ''}`.trim()
        const deed = { action: 'alert.acknowledged', who, hubId: accountOf(seen), subject: seen.id, detail } as const
        await audit.note(deed, { alert: seen.id, author: by.by })
      }
      return outcome
    },
    async unacknowledge(seen, who) {
      const outcome = await withdrawAcknowledgement(services, seen, clock.now())
      if (outcome.is === 'withdrawn') {
        const deed = { action: 'alert.unacknowledged', who, hubId: accountOf(seen), subject: seen.id } as const
        await audit.note(deed, { alert: seen.id })
      }
      return outcome
    },
    /** Each is sent under its own id, for another three days. */
    async replay(wanted, who) {
      const { receiver } = wanted
      const replayed = await deliveries.replay(wanted, clock.now())
      if (replayed > 0) {
        await wakeNow(services, 'alerts')
        const detail = countOf(replayed, 'delivery', 'deliveries')
        await audit.note({ action: 'delivery.replayed', who, subject: receiver, detail }, { count: replayed })
      }
      const known = Object.keys(config.receivers)
      // One that the config no longer has may have deliveries that were given up.
      if (replayed === 0 && receiver !== undefined && !known.includes(receiver)) {
        return { is: 'unknown-receiver', why: unknownName(receiver, known, 'no receiver has this name') }
      }
      const off = Object.keys(await deliveries.disabled())
      return { is: 'replayed', replayed, disabled: off.filter((name) => receiver === undefined || name === receiver) }
    },
  } satisfies Partial<Actions>
}

function inTheNameOf(author: string, { name }: Who): string {
  return author === name ? '' : ` by ${author}`
}

/** An alert about all accounts is no account's. */
function accountOf({ hubId }: Pick<AlertAtLevel, 'hubId'>): number | undefined {
  return hubId === NO_ACCOUNT ? undefined : hubId
}
