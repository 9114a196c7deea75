import { alertTitle } from '../alerts/alert-title.ts'
import type { OpenAlert } from '../alerts/open-alerts.ts'
import { accountCells, ageCell, usageCell } from '../text/cells.ts'
import { named, number, spare, state, whole } from '../text/columns.ts'
import { ALERT_PLACE, alertPlaceText, findAlerts, MARKS, OPEN_KINDS, readPlace } from '../views/find-alerts.ts'
import { OpenAlertShape } from '../views/shapes/alert.ts'
import { accountField, choiceField, textField } from './field.ts'
import { listing } from './operation.ts'
import { ALERT_LEVELS, TAG, tagNamed } from './searches.ts'

/** Orders of a list that has the worst first. */
const ORDERS = {
  worst: () => 0,
  newest: (a: OpenAlert, b: OpenAlert) => Date.parse(b.since) - Date.parse(a.since),
  account: (a: OpenAlert, b: OpenAlert) => (a.hubId ?? 0) - (b.hubId ?? 0),
}

export const alertList = listing({
  id: 'listAlerts',
  route: 'GET /alerts',
  is: 'list the alerts that are open, worst first',
  description:
    'The alerts of an account stay together, so a page may have a few more items than `limit`. An alert that gets worse between two pages moves ahead: to see each once, ask for one account at a time, or for all on one page.',
  takes: {
    mark: choiceField(MARKS, 'only those that are acknowledged, silenced, handled (either) or active (neither)', {
      option: 'state',
    }),
    level: choiceField(ALERT_LEVELS, 'only alerts at this level'),
    kind: choiceField(OPEN_KINDS, 'only alerts of this kind'),
    tag: TAG,
    account: textField('only those of accounts whose hub id or domain has it', { option: 'search', most: 120 }),
    hubId: accountField('only those of this account'),
    sort: choiceField(['worst', 'newest', 'account'], 'worst first, newest first, or by hub id', {
      only: 'command',
      byDefault: 'worst',
    }),
  },
  gives: OpenAlertShape,
  order: 'By account, the one with the worst alert first; those of one account worst first.',
  pages: { cursor: ALERT_PLACE },
  isWatched: true,
  example: { query: { level: 'critical' } },
  examples: ['', '--state active --kind token'],
  reads: async (deps, { given, page: { limit, after }, now }) => {
    const { mark, level, kind, tag, account, hubId, sort } = given
    const filter = { mark, level, kind, account, hubId, carriers: tagNamed(deps, tag)?.accounts }
    const silences = await deps.silences.active(now)
    const page = { after: after === undefined ? undefined : readPlace(after), accounts: limit, alerts: limit }
    const { accounts, alerts, next } = await findAlerts(deps, { ...filter, silences }, page, now)
    // Pages go on behind an account.
    const items = sort === undefined ? accounts.flatMap((one) => one.alerts) : alerts.sort(ORDERS[sort])
    return { items, next: next && alertPlaceText(next) }
  },
  json: (alert) => alert,
  show: ({ items }, { given: { sort: _, ...filter }, isTerminal, now }) => {
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
      isTerminal ? alert.id.slice(0, ID_BEGINNING) : alert.id,
    ])
    return [{ columns, rows }]
  },
})

/** The part of an id that `alerts ack` needs, where room is scarce. */
const ID_BEGINNING = 8
