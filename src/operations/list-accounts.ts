import { ACCOUNT_SORTS, ALERT_FILTERS, parsePlace, placeText } from '../accounts/search/account-query.ts'
import { kindOf } from '../alerts/alert-state.ts'
import { ACCOUNT_STATES } from '../redis/keys.ts'
import { ageCell, leftCell } from '../text/cells.ts'
import { below, spare, state, whole } from '../text/columns.ts'
import { formatCount, formatPercent } from '../text/format-number.ts'
import { alertCountsText } from '../views/alert-texts.ts'
import { STATE_NAMES } from '../views/judge-account.ts'
import { type ListedAccount, readAccountList, WITHOUT_LIMIT, withClosestLimit } from '../views/list-accounts.ts'
import { ListedAccountShape } from '../views/shapes/account.ts'
import { choiceField, flagField, type Given, textField } from './field.ts'
import { listing } from './operation.ts'
import { wrongField } from './refusal.ts'
import { ALERT_LEVELS, TAG, tagNamed } from './searches.ts'

const SEARCH = {
  state: choiceField(ACCOUNT_STATES, 'only accounts in this state'),
  level: choiceField(ALERT_LEVELS, 'only those with an open alert at this level'),
  kind: choiceField(['limit', 'token', 'poll'], 'only those with an open alert of this kind', { only: 'command' }),
  tag: TAG,
  q: textField('only those whose hub id begins so, or whose domain has it', { option: 'search' }),
  sort: choiceField(ACCOUNT_SORTS, 'by their worst alert, domain, nearest limit or next poll', {
    byDefault: { command: 'worst' },
  }),
  stale: flagField('only accounts without a fresh reading (limits.freshness)'),
  alert: choiceField(ALERT_FILTERS, 'only those with an open alert, or one of this level', { only: 'api' }),
  order: choiceField(['asc', 'desc'], 'accounts that have nothing to be ordered by come last', {
    only: 'api',
    byDefault: 'asc',
  }),
}

export const accountList = listing({
  id: 'listAccounts',
  route: 'GET /accounts',
  is: 'list accounts, those with the worst alerts first',
  description:
    'Without `sort` by hub id; `worst`: by the worst alert that is neither acknowledged nor silenced, then by state. An account that moves in the order between two pages may be listed twice or not at all; by hub id none does.',
  takes: SEARCH,
  gives: ListedAccountShape,
  order: 'In the order that was asked for.',
  pages: { cursor: /^.{1,400}$/su },
  example: { query: { state: 'active', limit: '2' } },
  examples: ['--state failing', '--level critical --sort nearest'],
  reads: async (deps, { given, page, isForPeople }) => {
    const { state, level, kind, q = '', sort, stale, alert = level, order } = given
    if (level !== undefined && alert !== level)
      throw wrongField('level', `is another one than alert=${alert}: give one of them`)
    const after = page.after === undefined ? undefined : parsePlace(page.after, sort)
    if (page.after !== undefined && after === undefined)
      throw wrongField('after', 'is not a place in a list of this order')
    const { rows, next } = await readAccountList(deps, {
      text: q.trim(),
      state,
      stale,
      alert,
      sort,
      descending: order === 'desc',
      after,
      tag: tagNamed(deps, given.tag),
      limit: Math.min(page.limit, Number.MAX_SAFE_INTEGER - 1),
    })
    const items = kind === undefined ? rows : rows.filter((row) => hasAlert(row, { kind, level }))
    return { items: isForPeople ? await withClosestLimit(deps, items) : items, next: next && placeText(next) }
  },
  json: ({ account }) => account,
  show: ({ items }, { given, now }) => {
    if (items.length === 0) return [noneText(given)]
    const columns = [
      whole('HUB ID'),
      'DOMAIN',
      state('STATE'),
      whole('ALERTS'),
      whole('NEAREST LIMIT'),
      spare(whole('READ')),
      spare(whole('TOKEN ENDS')),
      below('TROUBLE'),
    ]
    const rows = items.map(({ account, ...row }) => [
      String(account.hubId),
      account.hubDomain,
      stateText(account),
      alertCountsText(account.openAlerts),
      closestCell(row),
      account.polledAt === null ? 'not yet' : ageCell(account.polledAt, now),
      leftCell(account.state === 'uninstalled' ? null : account.token.expiresAt, now),
      account.trouble,
    ])
    return [{ columns, rows }]
  },
})

function hasAlert({ open }: ListedAccount, { kind, level }: Pick<Given<typeof SEARCH>, 'kind' | 'level'>): boolean {
  return open.some(
    ({ hubId, field, state }) => kindOf(hubId, field) === kind && (level === undefined || state.level === level),
  )
}

/** How full its nearest limit is, and the level of the alert about it: `96 % critical`. */
function closestCell({ closest = null, level }: Pick<ListedAccount, 'closest' | 'level'>): string {
  if (closest === null) return ''
  if (typeof closest === 'string') return WITHOUT_LIMIT[closest]
  const { usage, percent } = closest.series
  return `${percent === null ? formatCount(usage) : formatPercent(percent)} ${level ?? ''}`.trim()
}

export function stateText({ state, unreadable }: Pick<ListedAccountShape, 'state' | 'unreadable'>): string {
  return unreadable.length === 0 ? STATE_NAMES[state] : `${STATE_NAMES[state]}, unreadable`
}

function noneText({ state, level, kind, tag, q, stale }: Given<typeof SEARCH>): string {
  if ([level, kind, tag, q].some((given) => given !== undefined)) return 'no account matches'
  if (stale) return 'no account is without a fresh reading'
  if (state !== undefined) return `no account is in the state "${STATE_NAMES[state]}"`
  return 'no account is connected yet: send customers to /install under publicUrl, or plimsoll accounts connect or import'
}
