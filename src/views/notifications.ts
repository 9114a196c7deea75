import type { Alert } from '../alerts/alert.ts'
import { POLL_FIELD, TOKEN_FIELD } from '../alerts/alert-state.ts'
import { DIGEST } from '../alerts/sending/group.ts'
import type { TransitionRef } from '../alerts/transition-log.ts'
import type { DeliveryHead, LoggedAttempt } from '../delivery/deliveries.ts'
import { METRICS } from '../limits/reports/all-reports.ts'
import { seriesId } from '../limits/series.ts'
import { isoOf } from '../text/format-time.ts'
import type { CurrentSeries } from './account-view.ts'
import { type Fate, readAlertLog } from './alert-log.ts'
import type { PlannedAccount } from './judge-account.ts'
import { heldText, type ReceiverFate } from './receiver-fates.ts'
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
export async function readNotifications(deps: Sources, hubId: number, most = ALL): Promise<Notification[]> {
  const logged = (await readAlertLog(deps, { since: 0, hubId })).slice(-most.transitions)
  if (logged.length === 0) return []
  const attempts = await deps.deliveries.log(most.attempts)
  const found = await Promise.all(
    logged.map(async ({ transition: ref, alert, fate, receivers }): Promise<Notification> => {
      const waiting = receivers.filter(({ is }) => is === 'pending').map((one) => waitingFor(deps, one))
      return {
        ref,
        alert,
        at: Date.parse(alert.measuredAt),
        field: fieldOf(alert),
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

const IN_OUTBOX: WaitingFor[] = [{ receiver: '', where: 'outbox', until: null }]

/** The field of the state that it changed. */
function fieldOf({ kind, series }: Alert): string {
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
async function waitingFor({ store, keys }: Sources, { receiver, waits, delivery }: ReceiverFate): Promise<WaitingFor> {
  if (waits?.is === 'held' && waits.held !== undefined) {
    const { held } = waits
    return { receiver, where: 'held', until: held.is === 'fleet' ? null : held.until, because: heldText(held) }
  }
  if (waits !== undefined)
    return { receiver, where: waits.group === DIGEST ? 'digest' : 'group', until: waits.until ?? null }
  const until = await store.zscore(keys.delivery.deliveriesDue, delivery?.id ?? '')
  return { receiver, where: 'delivery', until: until === null ? null : Number(until) }
}

/** Everything that is read of an account to explain its notifications. */
export interface AccountFacts {
  account: PlannedAccount
  series: readonly CurrentSeries[]
  /** States of its alerts as stored, by field. */
  states: Readonly<Record<string, string>>
  /** Transitions in the alert log, newest first. */
  log: readonly Notification[]
}

/** A transition with its outcome. */
export interface Notification {
  /** Place in the alert log. */
  ref: TransitionRef
  /** Commit, ms. */
  at: number
  /** The field of the state that it changed: a series' id, `token`, `poll`. */
  field: string
  alert: Alert
  /** Outcome: still waiting, sent, given up, or withheld from every receiver; `unknown`: no longer stored. */
  fate: Fate['is']
  /** Why it ended; empty where there is nothing to show. */
  why: string
  /** Receivers that still wait for it, and where. */
  waiting: readonly WaitingFor[]
  attempts: readonly LoggedAttempt[]
}

export interface WaitingFor {
  receiver: string
  where: 'outbox' | 'group' | 'digest' | 'held' | 'delivery'
  /** Moment of the next check, ms. */
  until: number | null
  /** Why it is held back. */
  because?: string
}
