import type { Alert } from '../alerts/alert.ts'
import { currentAcknowledgement, type SeriesState } from '../alerts/alert-state.ts'
import { FLEET_SUBJECT } from '../alerts/open-alerts.ts'
import { routeOf } from '../alerts/route.ts'
import { coversAlert, quietUntil } from '../alerts/sending/hold.ts'
import { silenceOf } from '../alerts/silence.ts'
import { formatMoment } from '../text/format-time.ts'
import type { AccountFacts, Notification, WaitingFor } from './notifications.ts'
import type { RuleSet } from './view-deps.ts'

/** A reason that keeps an alert from being sent. */
export interface HeldBack {
  is: 'silence' | 'quiet-hours' | 'acknowledged' | 'fleet' | 'first-run' | 'waiting' | 'no-route'
  /** ms; null where it has no time that is known. */
  until: number | null
  text: string
}

/** Everything that keeps the alert from people now, whether one of it alone would do or not. */
export function heldBack(
  { routes, firstRun }: Pick<RuleSet, 'routes' | 'firstRun'>,
  { silences, fleet }: Pick<AccountFacts, 'silences' | 'fleet'>,
  { alert, state, now, hasContact }: { alert: Alert; state: SeriesState | undefined; now: number; hasContact: boolean },
): HeldBack[] {
  const held: HeldBack[] = []
  const hold = (is: HeldBack['is'], until: number | null, text: string) => held.push({ is, until, text })
  const silence = silenceOf(silences, alert, now)
  if (silence !== undefined) {
    const { id, author, comment, endsAt } = silence
    hold(
      'silence',
      endsAt,
      `silenced by ${author} until ${formatMoment(endsAt)} (${id}${comment === '' ? '' : `: ${comment}`})`,
    )
  }
  const route = routeOf(routes, alert, hasContact)
  if (route === undefined) hold('no-route', null, 'no route matches it: no receiver is notified')
  const quiet = quietUntil(routes, alert, now, route?.to[0] ?? '')
  if (quiet !== undefined && route !== undefined) {
    hold('quiet-hours', quiet, `quiet hours of routes[${routes.indexOf(route)}] until ${formatMoment(quiet)}`)
  }
  const acknowledgement = currentAcknowledgement(state, now)
  if (acknowledgement !== undefined) {
    const { by, at, until, comment } = acknowledgement
    const note = comment === undefined ? '' : ` (${comment})`
    hold(
      'acknowledged',
      until,
      `acknowledged by ${by} ${formatMoment(at)}${note}: repeats if it gets worse, or from ${formatMoment(until)} on`,
    )
  }
  for (const trouble of fleet.filter((open) => coversAlert(open, alert))) {
    hold('fleet', null, `the alert about all accounts is sent in its place (${FLEET_SUBJECT[trouble]})`)
  }
  if (state?.pending?.sinceFirstReading === true && firstRun === 'digest') {
    hold(
      'first-run',
      null,
      'it was there at the first reading: it comes with the digest of new accounts (alerts.firstRun)',
    )
  }
  return held
}

/** Also for an alert that is over: its end is sent too. */
export function waitingIn(transitions: readonly Notification[]): HeldBack[] {
  const all = transitions.flatMap(({ waiting }) =>
    waiting.map(({ receiver, where, until, because }) => ({
      ...{ is: 'waiting' as const, until },
      text: waitingText(receiver, where, until, because),
    })),
  )
  // Several transitions may be in one message.
  return [...new Map(all.map((one) => [one.text, one])).values()]
}

const WHERE: Readonly<Record<WaitingFor['where'], string>> = {
  outbox: 'waits in the outbox to be collected',
  group: 'waits in its group for more of its kind',
  digest: 'waits for the digest of new accounts (alerts.firstRun)',
  held: 'is held back',
  delivery: 'on its way',
}

function waitingText(receiver: string, where: WaitingFor['where'], until: number | null, because: string | undefined) {
  const why = because === undefined ? '' : ` by ${because}`
  const time = where === 'delivery' ? ', next attempt' : ' until'
  return `${receiver === '' ? '' : `for ${receiver}: `}${WHERE[where]}${why}${until === null ? '' : `${time} ${formatMoment(until)}`}`
}
