import { type Alert, alertOf } from '../alerts/alert.ts'
import { POLL_FIELD, TOKEN_FIELD } from '../alerts/alert-state.ts'
import type { GroupSettings } from '../alerts/deps.ts'
import { decodeHeld, groupingFor, groupKey, heldField, homesOf, isDigest } from '../alerts/groups/group.ts'
import type { FleetTrouble } from '../alerts/kinds/fleet-alert.ts'
import type { Fate, TransitionRef } from '../alerts/ledger.ts'
import type { Silence } from '../alerts/silence.ts'
import type { DeliveryHead, LoggedAttempt } from '../delivery/deliveries.ts'
import { METRICS } from '../limits/reports/all-reports.ts'
import { seriesId } from '../limits/series.ts'
import type { CurrentSeries, PlannedAccount } from './account-view.ts'
import { heldText, readAlertLog } from './alert-log.ts'
import type { ViewDeps } from './view-deps.ts'

type Sources = Pick<ViewDeps, 'store' | 'keys' | 'deliveries' | 'receivers'> & { group: GroupSettings }

/** How much is looked up. */
export interface MostNotifications {
  /** The newest of the account: where they are, and each attempt to deliver them. */
  transitions: number
  /** The newest of all accounts. */
  attempts: number
}

/** As many attempts as are kept. */
const ALL: MostNotifications = { transitions: 200, attempts: 10_000 }

/** What an account was told of, newest first, and what became of it. */
export async function readNotifications(deps: Sources, hubId: number, most = ALL): Promise<Notification[]> {
  const logged = (await readAlertLog(deps, { since: 0, hubId })).slice(-most.transitions)
  const [oldest] = logged
  if (oldest === undefined) return []
  const since = Date.parse(oldest.alert.measuredAt)
  const [heads, attempts] = await Promise.all([deps.deliveries.heads(since), deps.deliveries.log(most.attempts)])
  const found = await Promise.all(
    logged.map(async ({ transition: ref, alert, fate }): Promise<Notification> => {
      const carrying = heads.filter(({ transitions }) => transitions.includes(ref))
      return {
        ...{ ref, alert, at: Date.parse(alert.measuredAt), field: fieldOf(alert) },
        fate: fate.is,
        why: 'why' in fate ? fate.why : '',
        waiting:
          fate.is !== 'pending' ? [] : 'inOutbox' in fate ? IN_OUTBOX : await waitingFor(deps, ref, alert, carrying),
        attempts: attemptsOf(carrying, attempts),
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

/** Of a delivery whose attempts are no longer in the log, what its last one brought. */
function attemptsOf(carrying: readonly DeliveryHead[], attempts: readonly LoggedAttempt[]): LoggedAttempt[] {
  return carrying
    .flatMap((head): LoggedAttempt[] => {
      const logged = attempts.filter(({ id }) => id === head.id)
      if (logged.length > 0 || head.attempts === 0 || head.endedAt === null) return logged
      const { id, receiver, type, attempts: attempt, state, endedAt, reason } = head
      const unknown = { ms: null, answer: null, nextAt: null }
      return [{ ...{ at: endedAt, id, receiver, type, attempt, reason }, outcome: state, ...unknown }]
    })
    .sort((a, b) => a.at - b.at)
}

async function waitingFor(
  deps: Sources,
  ref: TransitionRef,
  alert: Alert,
  carrying: readonly DeliveryHead[],
): Promise<WaitingFor[]> {
  const places = await Promise.all(deps.receivers.map((receiver) => placeFor(deps, ref, alert, receiver)))
  const deliveries = carrying
    .filter(({ state }) => state === 'pending')
    .map(async ({ id, receiver }): Promise<WaitingFor> => {
      const until = await deps.store.zscore(deps.keys.delivery.deliveriesDue, id)
      return { receiver, where: 'delivery', until: until === null ? null : Number(until) }
    })
  return [...places.filter((place) => place !== undefined), ...(await Promise.all(deliveries))]
}

/** Where it waits for one receiver: in a group, or held back. */
async function placeFor(
  { store, keys, group }: Sources,
  ref: TransitionRef,
  alert: Alert,
  receiver: string,
): Promise<WaitingFor | undefined> {
  const { delivery } = keys
  const homes = homesOf(receiver, { alert }, groupingFor(group, receiver)).filter((key) => key !== '')
  for (const key of [...homes, groupKey(receiver, { alert, firstReading: true }, groupingFor(group, receiver))]) {
    const [waits, closesAt] = await Promise.all([
      store.hexists(delivery.group(key), ref),
      store.zscore(delivery.groupsDue, key),
    ])
    if (waits === 1) {
      return { receiver, where: isDigest(key) ? 'digest' : 'group', until: closesAt === null ? null : Number(closesAt) }
    }
  }
  const field = heldField(receiver, alertOf(alert))
  const stored = await store.hget(delivery.held, field)
  if (stored === null) return undefined
  const { of, held } = decodeHeld(stored)
  if (!of.some(([one]) => one === ref)) return undefined
  return { receiver, where: 'held', until: held.is === 'fleet' ? null : held.until, because: heldText(held) }
}

/** All that is read of an account to say why it was told of, or was not. */
export interface AccountFacts {
  account: PlannedAccount
  series: readonly CurrentSeries[]
  /** States of its alerts as stored, by field. */
  states: Readonly<Record<string, string>>
  /** In force now. */
  silences: readonly Silence[]
  /** Troubles of the whole fleet whose alert is open. */
  fleet: readonly FleetTrouble[]
  /** Its transitions in the alert log, newest first. */
  log: readonly Notification[]
}

/** A transition with what became of it. */
export interface Notification {
  /** As the ledger knows it. */
  ref: TransitionRef
  /** When it was committed, ms. */
  at: number
  /** The field of the state that it changed: a series' id, `token`, `poll`. */
  field: string
  alert: Alert
  /** Where it is: waiting for somebody, told, given up, or withheld from everybody; `unknown`: that is no longer remembered. */
  fate: Fate['is'] | 'unknown'
  /** What it ended by; empty where there is nothing to say. */
  why: string
  /** Who still waits for it, and where. */
  waiting: readonly WaitingFor[]
  attempts: readonly LoggedAttempt[]
}

export interface WaitingFor {
  receiver: string
  where: 'outbox' | 'group' | 'digest' | 'held' | 'delivery'
  /** When that is looked at again, ms. */
  until: number | null
  /** Why it is held back. */
  because?: string
}
