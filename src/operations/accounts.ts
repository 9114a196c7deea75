import * as z from 'zod'
import { ACCOUNT_SORTS, ALERT_FILTERS, parsePlace, placeText } from '../accounts/search/account-query.ts'
import { kindOf } from '../alerts/alert-state.ts'
import { ACCOUNT_STATES } from '../redis/keys.ts'
import { ageCell, leftCell } from '../text/cells.ts'
import { below, prose, spare, state, whole } from '../text/columns.ts'
import { countOf, formatCount, formatPercent } from '../text/format-number.ts'
import { formatTime, iso } from '../text/format-time.ts'
import { ENDING } from '../views/account-story.ts'
import { readAccountView } from '../views/account-view.ts'
import { alertCountsText } from '../views/alert-texts.ts'
import { STATE_NAMES } from '../views/judge-account.ts'
import { type ListedAccount, readAccountList, WITHOUT_LIMIT, withClosestLimit } from '../views/list-accounts.ts'
import {
  AccountDetailsShape,
  ContactShape,
  ListedAccountShape,
  PolledShape,
  ReconnectLinkShape,
  ReconnectMailShape,
  RefreshedShape,
  UninstallShape,
} from '../views/shapes/account.ts'
import { listOf } from '../views/shapes/words.ts'
import { accountParts } from './account-details.ts'
import { awaitDeparture, departed } from './departure.ts'
import type { OperationDeps } from './deps.ts'
import {
  accountField,
  accountsField,
  choiceField,
  cursorField,
  flagField,
  limitField,
  mailboxField,
  textField,
} from './input.ts'
import { type Call, operation, pageJson, pageShape } from './operation.ts'
import { noAccount, Refusal, wrongField } from './refusal.ts'
import { ALERT_LEVELS, TAG, tagNamed } from './searches.ts'

const EXAMPLE = { params: { hubId: '1234567' } }
const OF_ACCOUNT = z.strictObject({ hubId: accountField('the account') })

const SEARCH = z.strictObject({
  state: choiceField([...ACCOUNT_STATES, 'must-reconnect', 'paused'], 'only accounts in this state')
    .transform((given) => (given === 'must-reconnect' ? 'reauthorize' : given === 'paused' ? 'parked' : given))
    .optional(),
  level: choiceField(ALERT_LEVELS, 'only those with an open alert at this level').optional(),
  kind: choiceField(['limit', 'token', 'poll'], 'only those with an open alert of this kind').optional(),
  tag: TAG,
  q: textField('only those whose hub id begins so, or whose domain has it', { 'x-option': 'search' }).optional(),
  sort: choiceField(ACCOUNT_SORTS, 'by their worst alert, domain, nearest limit or next poll').optional(),
  stale: flagField('only accounts without a fresh reading (limits.freshness)'),
  alert: choiceField(ALERT_FILTERS, 'only those with an open alert, or one of this level', {
    'x-option': false,
  }).optional(),
  order: choiceField(['asc', 'desc'], 'accounts that have nothing to be ordered by come last', {
    'x-option': false,
  }).default('asc'),
  limit: limitField(),
  after: cursorField(/^.{1,400}$/su),
})
type Search = z.output<typeof SEARCH>

export const listAccounts = operation({
  id: 'listAccounts',
  method: 'GET',
  path: '/accounts',
  summary: 'list accounts, those with the worst alerts first',
  description:
    'Without `sort` by hub id; `worst`: by level (critical, then warning), consequence and age; then by state. An account that moves in the order between two pages may be listed twice or not at all; by hub id none does.',
  input: SEARCH,
  output: pageShape(ListedAccountShape, 'In the order that was asked for.'),
  example: { query: { state: 'active', limit: '2' } },
  command: {
    name: 'accounts list',
    defaults: { sort: 'worst' },
    examples: ['--state failing', '--level critical --sort nearest'],
  },
  run: async (deps, { input, isForPeople }) => {
    const { state, level, kind, q = '', stale, alert = level, order, limit } = input
    if (level !== undefined && alert !== level)
      throw wrongField('level', `is another one than alert=${alert}: give one of them`)
    const { sort } = input
    const after = input.after === undefined ? undefined : parsePlace(input.after, sort)
    if (input.after !== undefined && after === undefined)
      throw wrongField('after', 'is not a place in a list of this order')
    const { rows, next } = await readAccountList(deps, {
      text: q,
      state,
      stale,
      alert,
      sort,
      descending: order === 'desc',
      after,
      tag: tagNamed(deps, input.tag),
      limit,
    })
    const items = kind === undefined ? rows : rows.filter((row) => hasAlert(row, { kind, level }))
    return { items: isForPeople ? await withClosestLimit(deps, items) : items, next: next && placeText(next) }
  },
  json: ({ items, next }) => pageJson({ items: items.map(({ account }) => account), next }),
  table: ({ items }, { input, now }) => {
    if (items.length === 0) return [noneText(input)]
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
      STATE_NAMES[account.state],
      alertCountsText(account.openAlerts),
      closestCell(row),
      account.polledAt === null ? 'not yet' : ageCell(account.polledAt, now),
      leftCell(account.state === 'uninstalled' ? null : account.token.expiresAt, now),
      account.trouble,
    ])
    return [{ columns, rows }]
  },
})

function hasAlert({ account, alerts }: ListedAccount, { kind, level }: Pick<Search, 'kind' | 'level'>): boolean {
  return alerts.some((one) => kindOf(account.hubId, one.field) === kind && (level === undefined || one.level === level))
}

/** How full its nearest limit is, and the level of the alert about it: `96 % critical`. */
function closestCell({ closest = null, level }: Pick<ListedAccount, 'closest' | 'level'>): string {
  if (closest === null) return ''
  if (typeof closest === 'string') return WITHOUT_LIMIT[closest]
  const { usage, percent } = closest.series
  return `${percent === null ? formatCount(usage) : formatPercent(percent)} ${level ?? ''}`.trim()
}

function noneText({ state, level, kind, tag, q, stale }: Search): string {
  if ([level, kind, tag, q].some((given) => given !== undefined)) return 'no account matches'
  if (stale) return 'no account is without a fresh reading'
  if (state !== undefined) return `no account is in the state "${STATE_NAMES[state]}"`
  return 'no account is connected yet: send customers to /install under publicUrl, or plimsoll accounts connect or import'
}

export const showAccount = operation({
  id: 'showAccount',
  method: 'GET',
  path: '/accounts/{hubId}',
  summary: 'show what is known of one account',
  input: OF_ACCOUNT,
  output: AccountDetailsShape,
  problems: [404],
  example: EXAMPLE,
  command: { name: 'accounts show', args: '<hubId>', examples: ['acme.example.com'] },
  run: async (deps, { input: { hubId } }) => {
    const view = await readAccountView(deps, hubId)
    if (view === undefined) throw noAccount(hubId)
    return view.details
  },
  table: accountParts,
})

const ABOUT_POLLS =
  'Plimsoll stores the readings and sends alerts about them; `outcome` shows whether all was read. There is no time limit.'

export const pollAccount = operation({
  id: 'pollAccount',
  method: 'POST',
  path: '/accounts/{hubId}/poll',
  summary: 'read the limits of an account now, as the daemon does when they are due',
  description: ABOUT_POLLS,
  input: OF_ACCOUNT,
  output: PolledShape,
  problems: [404],
  example: EXAMPLE,
  run: async (deps, { input: { hubId }, who }) => {
    if ((await deps.registry.get(hubId)) === undefined) throw noAccount(hubId)
    return pollOne(deps, hubId, who)
  },
  fails: ({ reason }) => reason ?? undefined,
})

export const pollAccounts = operation({
  id: 'pollAccounts',
  method: 'POST',
  path: '/accounts/poll',
  summary: 'read the limits of accounts now, as the daemon does when they are due',
  description: ABOUT_POLLS,
  input: z.strictObject({ accounts: accountsField('the accounts') }),
  output: listOf(PolledShape),
  problems: [404],
  answers: { 200: 'Outcome by account.' },
  example: { body: { accounts: [1234567] } },
  command: {
    name: 'accounts poll',
    args: '<accounts...>',
    examples: ['1234567', '1234567 acme.example.com'],
    busy: 'accounts polled',
    writesTokens: true,
  },
  run: async (deps, { input: { accounts: hubIds }, who, onlooker }) => {
    // Among others it has a line.
    const [alone, ...others] = hubIds
    if (alone !== undefined && others.length === 0 && (await deps.registry.get(alone)) === undefined)
      throw noAccount(alone)
    let done = 0
    const poll = async (hubId: number) => {
      const polled = await pollOne(deps, hubId, who)
      onlooker?.progress(++done, hubIds.length)
      return polled
    }
    return Promise.all(hubIds.map(poll))
  },
  table: (polled, { now }) => {
    const rows = polled.map(({ hubId, hubDomain, outcome, polledAt, reason }) => [
      String(hubId),
      hubDomain,
      outcome,
      ageCell(polledAt, now),
      reason ?? '',
    ])
    return [{ columns: [whole('HUB ID'), 'DOMAIN', state('OUTCOME'), spare(whole('READ')), prose('WHY')], rows }]
  },
  fails: (polled) => {
    const failed = polled.filter(({ outcome }) => outcome === 'failed').length
    return failed === 0
      ? undefined
      : `${failed} of ${countOf(polled.length, 'account')} could not be read, or not all of it`
  },
})

async function pollOne({ actions }: OperationDeps, hubId: number, who: Call['who']): Promise<PolledShape> {
  const { account, reason } = await actions.poll(hubId, who)
  const { hubDomain = '', state = null, polledAt = null } = account ?? {}
  const outcome = reason === undefined ? 'read' : 'failed'
  return { hubId, hubDomain, state, outcome, reason: reason ?? null, polledAt: iso(polledAt) }
}

const NOT_REFRESHED = {
  gone: 'gone',
  held: 'conflict',
  planned: 'conflict',
  closed: 'unavailable',
  failed: 'provider-failed',
} as const

export const refreshAccount = operation({
  id: 'refreshAccount',
  method: 'POST',
  path: '/accounts/{hubId}/refresh',
  summary: "refresh the account's tokens now, as the daemon does when they are due",
  description:
    'Runs at once, unless a retry is planned. It also uses the old refresh token of an account whose answer could not be read.',
  input: OF_ACCOUNT,
  output: RefreshedShape,
  problems: [404, 409, 410, 502, 503],
  example: EXAMPLE,
  command: {
    name: 'accounts refresh',
    args: '<hubId>',
    examples: ['1234567'],
    busy: 'refreshing the account',
    writesTokens: true,
  },
  run: async ({ actions }, { input: { hubId }, who }): Promise<RefreshedShape> => {
    const answer = await actions.refresh(hubId, who)
    if (answer.is === 'refreshed') {
      const { hubDomain, state, token } = answer.account
      return { hubId, hubDomain, state, outcome: 'refreshed', expiresAt: iso(token.expiresAt) }
    }
    if (answer.is === 'unknown') throw noAccount(hubId)
    const { is, why, until } = answer
    throw new Refusal(NOT_REFRESHED[is], `account ${hubId} was not refreshed: ${why}`, { until })
  },
  table: ({ hubId, expiresAt }) => [
    `refreshed account ${hubId}: its access token is valid until ${formatTime(expiresAt ?? '')}`,
  ],
})

const CONTACT = mailboxField('the new e-mail address')

const contact = {
  path: '/accounts/{hubId}/contact',
  output: ContactShape,
  problems: [404],
  table: ({ hubId, contact }: ContactShape) => [contact ?? `account ${hubId} has no contact of its own`],
} as const

export const showContact = operation({
  ...contact,
  id: 'showContact',
  method: 'GET',
  summary: "show or change the account's own contact: who gets what a receiver with to: account sends",
  input: OF_ACCOUNT.extend({ contact: CONTACT.optional() }),
  example: EXAMPLE,
  command: {
    name: 'accounts contact',
    args: '<hubId> [contact]',
    examples: ['acme.example.com ada@acme.example.com', 'acme.example.com', 'acme.example.com --remove'],
    given: { contact: 'setContact' },
    flags: { remove: { id: 'removeContact', description: 'take the contact away' } },
  },
  run: (deps, { input: { hubId } }) => contactOf(deps, hubId),
})

export const setContact = operation({
  ...contact,
  id: 'setContact',
  method: 'PUT',
  summary: "change the account's own contact",
  input: OF_ACCOUNT.extend({ contact: CONTACT }),
  example: { ...EXAMPLE, body: { contact: 'ada@acme.example.com' } },
  run: async (deps, { input: { hubId, contact }, who }) => {
    await deps.actions.setContact(hubId, contact, who)
    return contactOf(deps, hubId)
  },
})

export const removeContact = operation({
  ...contact,
  id: 'removeContact',
  method: 'DELETE',
  summary: "take the account's own contact away",
  input: OF_ACCOUNT,
  example: EXAMPLE,
  run: async (deps, { input: { hubId }, who }) => {
    await deps.actions.setContact(hubId, null, who)
    return contactOf(deps, hubId)
  },
})

async function contactOf({ registry }: OperationDeps, hubId: number): Promise<ContactShape> {
  const account = await registry.get(hubId)
  if (account === undefined) throw noAccount(hubId)
  return { hubId, contact: account.contact }
}

export const uninstallAccount = operation({
  id: 'uninstallAccount',
  method: 'POST',
  path: '/accounts/{hubId}/uninstall',
  summary: "delete the account's refresh token at the provider; later the account is forgotten",
  description: 'At once nothing works for the account any more; a job deletes its refresh token.',
  input: OF_ACCOUNT.extend({
    reason: textField('why: it is kept in the log and with the account').optional(),
    wait: flagField('wait up to a minute until the refresh token is deleted'),
  }),
  output: UninstallShape,
  problems: [404, 503],
  answers: { 200: 'The account was uninstalled, or the request came again.', 202: 'The uninstall has started.' },
  example: { params: { hubId: '7654321' }, body: { reason: 'left us' } },
  command: {
    name: 'accounts uninstall',
    args: '<hubId>',
    examples: ['1234567'],
    confirm: {
      question:
        'Account {hubId} is uninstalled: its refresh token is deleted at the provider, and only the customer can connect it again.',
      answer: '{hubId}',
    },
    busy: 'seconds waited for the provider',
  },
  run: async (deps, { input: { hubId, reason, wait }, who, onlooker, stop }): Promise<UninstallShape> => {
    const begun = await deps.actions.uninstall(hubId, reason || 'no reason given', who)
    if (begun === 'unknown') throw noAccount(hubId)
    // A refuted one is connected again, which is said likewise.
    if (wait || begun === 'refuted') return departed(hubId, await awaitDeparture(deps, hubId, stop, onlooker?.progress))
    if (begun === 'begun') return { hubId, state: 'uninstalling', outcome: 'begun' }
    return { hubId, state: (await deps.registry.get(hubId))?.state ?? 'uninstalled', outcome: 'already' }
  },
  statusOf: ({ outcome }) => ({ status: outcome === 'begun' ? 202 : 200 }),
  table: ({ hubId, outcome, deletedAt, purgeAt }) => {
    if (outcome === 'begun')
      return [`account ${hubId} is being uninstalled: the daemon deletes its refresh token at the provider`]
    if (outcome === 'already') return [`account ${hubId} was uninstalled already`]
    if (outcome === 'forgotten') return [`account ${hubId} is forgotten: its refresh token is deleted`]
    return [
      `the refresh token of account ${hubId} was deleted ${formatTime(deletedAt ?? '')}: ${ENDING[outcome]}`,
      `its record and readings are forgotten ${formatTime(purgeAt ?? '')}`,
    ]
  },
})

const { command: _, ...uninstall } = uninstallAccount

export const deleteAccount = operation({
  ...uninstall,
  id: 'deleteAccount',
  method: 'DELETE',
  path: '/accounts/{hubId}',
  summary: 'uninstall an account, by another method',
})

export const createReconnectLink = operation({
  id: 'createReconnectLink',
  method: 'POST',
  path: '/accounts/{hubId}/reconnect-link',
  summary: 'print a link for the customer that connects this account again and no other',
  input: OF_ACCOUNT,
  output: ReconnectLinkShape,
  problems: [404],
  example: EXAMPLE,
  command: {
    name: 'accounts reconnect-link',
    args: '<hubId>',
    examples: ['acme.example.com', 'acme.example.com --send'],
    flags: { send: { id: 'mailReconnectLink', description: 'mail it to the customer' } },
  },
  run: async ({ actions, registry }, { input: { hubId }, who }) => {
    if ((await registry.get(hubId)) === undefined) throw noAccount(hubId)
    const { url, expiresAt, noted } = actions.reconnectLink(hubId, who)
    await noted
    return { hubId, url, expiresAt: new Date(expiresAt).toISOString() }
  },
  table: ({ url }) => [url],
  notes: ({ hubId, expiresAt }) => [`it connects account ${hubId} and no other, until ${formatTime(expiresAt)}`],
})

export const mailReconnectLink = operation({
  id: 'mailReconnectLink',
  method: 'POST',
  path: '/accounts/{hubId}/reconnect-link/mail',
  summary: 'mail the customer the link that connects this account again',
  description:
    'To the contact of the account, or else to the installer. Delivery is retried as for alerts. It needs a receiver of type email, and `http.brand.name`.',
  input: OF_ACCOUNT,
  output: ReconnectMailShape,
  problems: [404, 409],
  run: async ({ actions }, { input: { hubId }, who }): Promise<ReconnectMailShape> => {
    const outcome = await actions.mailReconnectLink(hubId, who)
    if (outcome.is === 'planned') return { hubId, to: outcome.to }
    if (outcome.is === 'unknown') throw noAccount(hubId)
    throw new Refusal('conflict', `no link was mailed to the customer of account ${hubId}: ${outcome.why}`)
  },
  table: ({ hubId, to }) => [`the link that connects account ${hubId} again is on its way to ${to}`],
})
