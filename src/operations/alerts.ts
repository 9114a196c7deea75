import * as z from 'zod'
import { findAlert, findAlertOf } from '../alerts/acknowledge.ts'
import { alertOfTransition } from '../alerts/alert.ts'
import { alertTitle } from '../alerts/alert-title.ts'
import { acknowledgementOf, type OpenAlert, type OpenState, readOpenAlerts } from '../alerts/open-alerts.ts'
import { LONGEST_AUTHOR, LONGEST_COMMENT } from '../alerts/silence.ts'
import { byCommit, type TransitionRef } from '../alerts/transition-log.ts'
import { NO_ACCOUNT } from '../redis/steps.ts'
import { defined } from '../runtime/defined.ts'
import { accountCells, ageCell, usageCell } from '../text/cells.ts'
import { cleanText } from '../text/clean-text.ts'
import { named, number, prose, spare, state, whole } from '../text/columns.ts'
import { formatMoment, formatTime } from '../text/format-time.ts'
import { forgottenUntil, type LoggedTransition, readAlertLog, transitionJson } from '../views/alert-log.ts'
import { ALERT_PLACE, alertPlaceText, findAlerts, MARKS, OPEN_KINDS, readPlace } from '../views/find-alerts.ts'
import { AcknowledgedShape, OpenAlertShape, TransitionShape, UnacknowledgedShape } from '../views/shapes/alert.ts'
import { withMarks } from '../views/silenced.ts'
import type { OperationDeps } from './deps.ts'
import { accountField, choiceField, cursorField, flagField, limitField, momentField, textField } from './input.ts'
import { operation, pageJson, pageShape } from './operation.ts'
import { Refusal } from './refusal.ts'
import { ALERT_LEVELS, numberAndId, pageOfList, TAG, tagNamed } from './searches.ts'

/** Orders of a list that has the worst first. */
const ORDERS = {
  worst: () => 0,
  newest: (a: OpenAlert, b: OpenAlert) => Date.parse(b.since) - Date.parse(a.since),
  account: (a: OpenAlert, b: OpenAlert) => (a.hubId ?? 0) - (b.hubId ?? 0),
}

export const listAlerts = operation({
  id: 'listAlerts',
  method: 'GET',
  path: '/alerts',
  summary: 'list the alerts that are open, worst first',
  description:
    'The alerts of an account stay together, so a page may have a few more items than `limit`. An alert that gets worse between two pages moves ahead. To see each alert once, request one account, or use `sort`: then all are on one page.',
  input: z.strictObject({
    mark: choiceField(MARKS, 'only acknowledged or silenced ones, either of them (handled) or neither (active)', {
      'x-option': 'state',
    }).optional(),
    level: choiceField(ALERT_LEVELS, 'only alerts at this level').optional(),
    kind: choiceField(OPEN_KINDS, 'only alerts of this kind').optional(),
    tag: TAG,
    account: textField('only those of accounts whose hub id or domain has it', {
      'x-option': 'search',
      most: 120,
    }).optional(),
    hubId: accountField('only those of this account').optional(),
    sort: choiceField(['worst', 'newest', 'account'], 'worst first, newest first, or by hub id').optional(),
    limit: limitField(),
    after: cursorField(ALERT_PLACE),
  }),
  output: pageShape(
    OpenAlertShape,
    'By account, the one with the worst alert first; those of one account worst first. In the order of `sort`, where it is given.',
  ),
  example: { query: { level: 'critical' } },
  command: { name: 'alerts list', isWatched: true, examples: ['', '--state active --kind token'] },
  run: async (deps, { input, now, isForPeople }) => {
    const { mark, level, kind, tag, account, hubId, after } = input
    const sort = input.sort ?? (isForPeople ? 'worst' : undefined)
    const filter = { mark, level, kind, account, hubId, carriers: tagNamed(deps, tag)?.accounts }
    const silences = await deps.silences.active(now)
    // Pages go on behind an account.
    const most = sort === undefined ? input.limit : Number.POSITIVE_INFINITY
    const page = { after: after === undefined ? undefined : readPlace(after), accounts: most, alerts: most }
    const { accounts, alerts, next } = await findAlerts(deps, { ...filter, silences }, page, now)
    const items = sort === undefined ? accounts.flatMap((one) => one.alerts) : alerts.sort(ORDERS[sort])
    return { items, next: next && alertPlaceText(next) }
  },
  json: pageJson,
  table: ({ items }, { input: { sort: _, limit: __, after: ___, ...filter }, now }) => {
    const isFiltered = Object.values(filter).some((value) => value !== undefined)
    if (items.length === 0) return [isFiltered ? 'no open alert matches' : 'no alert is open']
    const columns = [
      state('LEVEL'),
      whole('HUB ID'),
      spare('DOMAIN'),
      named('WHAT'),
      number('USAGE'),
      spare(whole('AGE')),
      whole('SILENCED'),
      'ACK BY',
      whole('ID'),
    ]
    const rows = items.map((alert) => [
      alert.level,
      ...accountCells(alert),
      alertTitle(alert),
      usageCell(alert),
      ageCell(alert.since, now),
      alert.silencedBy ?? '',
      alert.acknowledged?.by ?? '',
      alert.id.slice(0, ID_BEGINNING),
    ])
    return [{ columns, rows }]
  },
})

/** The part of an id that a table has; `alerts ack` needs no more. */
const ID_BEGINNING = 8

const OF_ALERT = z.strictObject({
  id: textField('its id, or the first six characters of it, or more'),
  hubId: accountField('its account, which spares a search').optional(),
})
const EXAMPLE = { params: { id: '72254a98b7594a1f' } }

export const showAlert = operation({
  id: 'showAlert',
  method: 'GET',
  path: '/alerts/{id}',
  summary: 'one alert that is open',
  input: OF_ALERT,
  output: OpenAlertShape,
  problems: [404, 409],
  example: EXAMPLE,
  run: async (deps, { input, now }) => {
    const { id, hubId } = await alertNamed(deps, input)
    const found = (await readOpenAlerts(deps.store, deps.keys, [hubId])).filter((alert) => alert.id === id)
    const [alert] = withMarks(found, await deps.silences.active(now), now)
    if (alert === undefined) throw justClosed(id)
    return alert
  },
})

export const listTransitions = operation({
  id: 'listTransitions',
  method: 'GET',
  path: '/transitions',
  summary: 'list the history of alerts, and what was sent',
  description: 'The last 50,000 transitions; of one account its last 200.',
  input: z.strictObject({
    since: momentField('from when on').prefault('24h'),
    hubId: accountField('of one account').optional(),
    level: choiceField(ALERT_LEVELS, 'of one level').optional(),
    newest: flagField('newest first, not oldest first', { 'x-option': false }),
    limit: limitField(),
    // The moment and the transition that came last.
    after: cursorField(/^\d{1,15}\.\d{1,15}-\d{1,15}$/),
  }),
  output: pageShape(TransitionShape, 'Oldest first: what comes meanwhile comes at the end.'),
  example: { query: { since: '2026-11-21T00:00:00Z', hubId: '1234567' } },
  command: { name: 'alerts log', examples: ['--since 2h --account 1234567'] },
  run: async (deps, { input: { since: from, hubId, level, newest, limit, after }, now }) => {
    const query = { since: from(now), ...defined({ hubId, level }) }
    const compare = (a: Place, b: Place) => (newest ? comparePlaces(b, a) : comparePlaces(a, b))
    const [logged, forgotten] = await Promise.all([readAlertLog(deps, query), forgottenUntil(deps, query)])
    const sorted = logged.toSorted((a, b) => compare(placeOf(a), placeOf(b)))
    const rest = after === undefined ? sorted : sorted.filter((one) => compare(placeOf(one), numberAndId(after)) > 0)
    const { items, next } = pageOfList(rest, limit, (last) => placeOf(last).join('.'))
    return { items: items.map(transitionJson), next, forgotten }
  },
  json: pageJson,
  notes: ({ forgotten }) =>
    forgotten === undefined
      ? []
      : [`what alerts did before ${formatMoment(forgotten)} is not all kept: some of it may be missing here`],
  table: ({ items }, { input, now }) => {
    if (items.length === 0) return [`no alert changed since ${formatMoment(input.since(now))}`]
    const columns = [
      whole('AGE'),
      state('LEVEL'),
      whole('REASON'),
      whole('HUB ID'),
      spare('DOMAIN'),
      named('WHAT'),
      spare(number('USAGE')),
      state('RESULT'),
      prose('WHY'),
      spare(whole('AT')),
      spare('ID'),
      spare(prose('RECEIVERS')),
    ]
    const rows = items.map(({ alert, fate, why, receivers }) => [
      ageCell(alert.measuredAt, now),
      alert.level,
      alert.reason,
      ...accountCells(alert.account ?? { hubId: null }),
      alertTitle(alert),
      usageCell(alert),
      fate,
      why ?? '',
      formatTime(alert.measuredAt),
      alert.id,
      receivers.map((each) => `${each.receiver} ${each.fate}`).join(', '),
    ])
    return [{ columns, rows }]
  },
})

type Place = readonly [at: number, transition: TransitionRef]

function placeOf({ alert, transition }: LoggedTransition): Place {
  return [Date.parse(alert.measuredAt), transition]
}

/** One order for all pages: those of one moment as they were committed. */
function comparePlaces([at, one]: Place, [otherAt, other]: Place): number {
  return at - otherAt || byCommit(one, other)
}

export const acknowledgeAlert = operation({
  id: 'acknowledgeAlert',
  method: 'POST',
  path: '/alerts/{id}/acknowledge',
  summary: 'acknowledge an open alert: it is not sent again until it gets worse',
  input: OF_ALERT.extend({
    level: choiceField(ALERT_LEVELS, 'the level that was seen: a higher one is not acknowledged').optional(),
    comment: textField('what is being done', { most: LONGEST_COMMENT }).optional(),
    by: textField('by whom; default: who runs this', { most: LONGEST_AUTHOR, 'x-option': 'author' }).optional(),
  }),
  output: AcknowledgedShape,
  problems: [404, 409],
  example: { ...EXAMPLE, body: { comment: 'asked the customer' } },
  command: {
    name: 'alerts ack',
    args: '<id>',
    examples: ['1f0c9a7be2d45a63 --comment "asked the customer"'],
  },
  run: async (deps, { input, who }) => {
    const alert = await alertNamed(deps, input)
    // Comment and author go into mails, pages and logs.
    const comment = cleanText(input.comment ?? '', LONGEST_COMMENT) || undefined
    const by = cleanText(input.by ?? '', LONGEST_AUTHOR) || who.name
    const { id, hubId, state } = alert
    const seen = { id, hubId, level: input.level ?? state.level }
    const outcome = await deps.actions.acknowledge(seen, { by, comment }, who)
    if (outcome.is === 'not-open') throw justClosed(id)
    if (outcome.is !== 'gone-worse') return { alert, ...outcome }
    const hint = 'plimsoll alerts list shows how, then acknowledge it'
    throw new Refusal('conflict', `alert ${id} got worse: its level is higher than the one that was seen`, { hint })
  },
  json: ({ alert, is, acknowledged }) => ({
    ...idsOf(alert),
    outcome: is,
    acknowledged: acknowledgementOf(acknowledged),
  }),
  table: ({ alert, is, acknowledged }) => {
    const [whose, until] = [whoseAlert(alert), formatMoment(acknowledged.until)]
    return [
      is === 'acknowledged'
        ? `acknowledged alert ${alert.id} of ${whose}: it is not sent again until ${until}, unless it gets worse`
        : `alert ${alert.id} of ${whose} was acknowledged already, by ${cleanText(acknowledged.by)} until ${until}`,
    ]
  },
})

export const unacknowledgeAlert = operation({
  id: 'unacknowledgeAlert',
  method: 'POST',
  path: '/alerts/{id}/unacknowledge',
  summary: 'take an acknowledgement back: the alert repeats again',
  input: OF_ALERT.pick({ id: true }),
  output: UnacknowledgedShape,
  problems: [404, 409],
  example: EXAMPLE,
  command: { name: 'alerts unack', args: '<id>', examples: ['1f0c9a7be2d45a63'] },
  run: async (deps, { input, who }) => {
    const alert = await alertNamed(deps, input)
    const { is } = await deps.actions.unacknowledge(alert, who)
    if (is === 'not-open') throw justClosed(alert.id)
    return { alert, is }
  },
  json: ({ alert, is }) => ({ ...idsOf(alert), outcome: is }),
  table: ({ alert, is }) => {
    const outcome = is === 'withdrawn' ? 'is no longer acknowledged: it repeats again' : 'was not acknowledged'
    return [`alert ${alert.id} of ${whoseAlert(alert)} ${outcome}`]
  },
})

/** The open alert that an id, or its beginning, names. */
export async function alertNamed(deps: OperationDeps, { id, hubId }: z.output<typeof OF_ALERT>): Promise<OpenState> {
  const ofAccount = hubId === undefined ? undefined : await findAlertOf(deps, hubId, alertOfTransition(id))
  if (ofAccount !== undefined) return ofAccount
  const found = await findAlert(deps, id)
  const given = id.slice(0, 40)
  switch (found.is) {
    case 'found':
      return found.alert
    case 'no-id': {
      const why = `"${given}" is not the id of an alert, nor its first six characters or more`
      throw new Refusal('unknown', why, { field: 'id', hint: 'plimsoll alerts list shows them' })
    }
    case 'several':
      throw new Refusal('ambiguous', `several open alerts begin with ${given}: ${found.ids.join(', ')}`)
    case 'unknown':
      throw new Refusal('unknown', `no alert ${given} is open`, { hint: 'plimsoll alerts list shows those that are' })
  }
}

function justClosed(id: string): Refusal {
  return new Refusal('unknown', `alert ${id} has just been closed`)
}

/** The alert's id and its account, for programs. */
function idsOf({ id, hubId }: OpenState): { id: string; hubId: number | null } {
  return { id, hubId: hubId === NO_ACCOUNT ? null : hubId }
}

/** For people: `acme.example.com (123)`. */
function whoseAlert({ hubId, hubDomain }: OpenState): string {
  if (hubId === NO_ACCOUNT) return 'all accounts'
  return hubDomain === '' ? `account ${hubId}` : `${cleanText(hubDomain)} (${hubId})`
}
