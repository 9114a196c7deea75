import type { Alert } from '../alerts/alert.ts'
import { POLL_FIELD, TOKEN_FIELD } from '../alerts/alert-state.ts'
import { DIGEST } from '../alerts/sending/decide-sending.ts'
import type { DeliveryHead, LoggedAttempt } from '../delivery/deliveries.ts'
import { METRICS } from '../limits/reports/all-reports.ts'
import { seriesId } from '../limits/series.ts'
import { iso, isoOf } from '../text/format-time.ts'
import { readAlertLog } from './alert-log.ts'
import { heldText, type ReceiverFate } from './receiver-fates.ts'
import type { NotificationShape } from './shapes/explanation.ts'
import type { ViewDeps } from './view-deps.ts'

type Sources = Pick<ViewDeps, 'store' | 'keys' | 'deliveries'>

/** How much is looked up. */
export interface MostNotifications {
  /** The newest of the account: where they are, and each attempt to deliver them. */
  transitions: number
  /** The newest of all accounts. */
  attempts: number
}

/** The number of attempts that are kept. */
const ALL: MostNotifications = { transitions: 200, attempts: 10_000 }

/** Notifications about an account, newest first, with their outcome. */
export async function readNotifications(deps: Sources, hubId: number, most = ALL): Promise<NotificationShape[]> {
  const logged = (await readAlertLog(deps, { since: 0, hubId })).slice(-most.transitions)
  if (logged.length === 0) return []
  const attempts = await deps.deliveries.log(most.attempts)
  const found = await Promise.all(
    logged.map(async ({ transition, alert, fate, receivers }): Promise<NotificationShape> => {
      const waiting = receivers.filter(({ is }) => is === 'pending').map((one) => waitingFor(deps, one))
      return {
        transition,
        at: alert.measuredAt,
        alert,
        fate: fate.is,
        why: fate.is === 'pending' ? '' : fate.why,
        waiting: fate.isNew === true ? IN_OUTBOX : await Promise.all(waiting),
        attempts: attemptsOf(
          receivers.flatMap(({ delivery }) => delivery ?? []),
          attempts,
        ),
      }
    }),
  )
  return found.reverse()
}

const IN_OUTBOX: NotificationShape['waiting'] = [{ receiver: '', where: 'outbox', until: null }]

/** The field of the state that a transition changed: a series' id, `token`, `poll`. */
export function fieldOf({ kind, series }: Pick<Alert, 'kind' | 'series'>): string {
  const metric = METRICS.find((one) => one === series?.metric)
  if (series !== undefined && metric !== undefined) return seriesId({ ...series, metric })
  return kind === 'poll' ? POLL_FIELD : TOKEN_FIELD
}

/** Attempts of each delivery; of one whose attempts are no longer in the log, its last outcome. */
function attemptsOf(carrying: readonly DeliveryHead[], attempts: readonly LoggedAttempt[]): LoggedAttempt[] {
  return carrying
    .flatMap((head): LoggedAttempt[] => {
      const logged = attempts.filter(({ id }) => id === head.id)
      if (logged.length > 0 || head.attempts === 0 || head.endedAt === null) return logged
      const { id, receiver, type, attempts: attempt, state, endedAt, reason } = head
      const unknown = { ms: null, answer: null, nextAt: null }
      return [{ at: isoOf(endedAt), id, receiver, type, attempt, reason, outcome: state, ...unknown }]
    })
    .sort((a, b) => a.at.localeCompare(b.at))
}

/** The place where a receiver's copy waits, and why. */
async function waitingFor(
  { store, keys }: Sources,
  { receiver, waits, delivery }: ReceiverFate,
): Promise<NotificationShape['waiting'][number]> {
  if (waits?.is === 'held' && waits.held !== undefined) {
    const { held } = waits
    return { receiver, where: 'held', until: held.is === 'fleet' ? null : iso(held.until), because: heldText(held) }
  }
  if (waits !== undefined)
    return { receiver, where: waits.group === DIGEST ? 'digest' : 'group', until: iso(waits.until ?? null) }
  const until = await store.zscore(keys.delivery.pending(receiver), delivery?.id ?? '')
  return { receiver, where: 'delivery', until: until === null ? null : iso(Math.floor(Number(until))) }
}
