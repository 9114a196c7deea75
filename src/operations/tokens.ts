import * as z from 'zod'
import { SCOPES } from '../http/access/scopes.ts'
import { ageCell } from '../text/cells.ts'
import { spare, whole } from '../text/columns.ts'
import { countOf } from '../text/format-number.ts'
import { iso } from '../text/format-time.ts'
import type { NoToken } from '../tokens/access-token.ts'
import type { Rekeyed, Writer } from '../tokens/rekey.ts'
import { AccessTokenShape } from '../views/shapes/account.ts'
import {
  AdminTokenShape,
  NewAdminTokenShape,
  RekeyedShape,
  RemovedAdminTokenShape,
} from '../views/shapes/installation.ts'
import type { KnownAdminToken } from './actions.ts'
import { accountField, textField } from './input.ts'
import { operation, pageShape } from './operation.ts'
import { noAccount, Refusal } from './refusal.ts'

export const showToken = operation({
  id: 'showToken',
  method: 'GET',
  path: '/accounts/{hubId}/token',
  scope: 'tokens',
  summary: 'a valid access token of the account',
  description:
    'Plimsoll refreshes the token first if needed, once for all callers. Request a token each time and keep none. The audit notes the caller.',
  input: z.strictObject({ hubId: accountField('the account') }),
  output: AccessTokenShape,
  problems: [404, 409, 410],
  answers: { 200: 'The token.' },
  example: { params: { hubId: '1234567' } },
  run: async ({ actions, metrics, publicUrl }, { input: { hubId }, who, now }): Promise<AccessTokenShape> => {
    const answer = await actions.accessToken(hubId, who)
    if (answer.is !== 'served') throw noToken(answer, hubId, publicUrl)
    metrics.tokensServed.inc({ to: who.name })
    return {
      accessToken: answer.token.reveal(),
      expiresAt: new Date(answer.expiresAt).toISOString(),
      expiresIn: Math.max(0, Math.floor((answer.expiresAt - now) / 1000)),
      scopes: [...answer.scopes],
    }
  },
})

function noToken(answer: NoToken, hubId: number, publicUrl: string): Refusal {
  switch (answer.is) {
    case 'unknown':
      return noAccount(hubId)
    case 'gone':
      return new Refusal('gone', `account ${hubId} was uninstalled: there is no token of it any more`)
    case 'reauthorize':
      return new Refusal(
        'reauthorize',
        `the provider no longer accepts the refresh token of account ${hubId}: the customer must connect again at ${publicUrl}/install`,
      )
    case 'later':
      return new Refusal(
        'unavailable',
        `there is no valid access token of account ${hubId} at the moment: Plimsoll refreshes it as soon as the provider allows it`,
        { until: answer.at },
      )
    case 'unopened':
      return new Refusal('unavailable', `the token of account ${hubId} can't be decrypted: ${answer.why}`, {
        until: answer.at,
      })
    case 'unidentified':
      return new Refusal(
        'unavailable',
        `account ${hubId} was imported, and the provider has not confirmed yet that its token is its own: Plimsoll checks that soon`,
        { until: answer.at },
      )
  }
}

const IGNORED =
  'An ignored token was not sealed with a key of this installation: its key is gone, or another program made it. ' +
  'plimsoll admin-tokens remove NAME removes it, plimsoll admin-tokens add NAME makes another one'

export const listAdminTokens = operation({
  id: 'listAdminTokens',
  method: 'GET',
  path: '/admin-tokens',
  scope: 'admin',
  summary: 'list the tokens by name, with what they may do and when they were last used',
  input: z.strictObject({}),
  output: pageShape(AdminTokenShape, 'By name.'),
  answers: { 200: 'All of them.' },
  example: {},
  command: { name: 'admin-tokens list' },
  run: async ({ actions }) => ({ items: (await actions.adminTokens()).map(adminTokenJson) }),
  table: ({ items }, { now }) => {
    if (items.length === 0) return ['there is no named token: plimsoll admin-tokens add NAME --scopes read makes one']
    const columns = [whole('NAME'), 'SCOPES', spare(whole('AGE')), whole('LAST USED')]
    const rows = items.map(({ name, scopes, createdAt, lastUsedAt, ignored }) => [
      name,
      ignored ? 'none: ignored' : scopes.join(','),
      ageCell(createdAt, now),
      ageCell(lastUsedAt, now),
    ])
    return [{ columns, rows }, ...(items.some(({ ignored }) => ignored) ? [IGNORED] : [])]
  },
})

function adminTokenJson({ name, scopes, createdAt, lastUsedAt, isOurs }: KnownAdminToken): AdminTokenShape {
  return { name, scopes: [...scopes], createdAt: iso(createdAt), lastUsedAt: iso(lastUsedAt), ignored: !isOurs }
}

const scope = z.enum(SCOPES, `must be one of ${SCOPES.join(', ')}`)
/** A text has commas between them. */
const scopes = z
  .preprocess(
    (given) =>
      given === undefined
        ? given
        : [given].flat().flatMap((one) => (typeof one === 'string' ? one.split(',').map((each) => each.trim()) : one)),
    z.array(scope, 'must be a list of scopes').min(1, 'must name a scope'),
  )
  .meta({
    description: `what it may do: ${SCOPES.join(', ')}; several with commas`,
    'x-sent': { type: 'array', items: { type: 'string', enum: [...SCOPES] } },
    'x-word': 'scopes',
  })

export const addAdminToken = operation({
  id: 'addAdminToken',
  method: 'POST',
  path: '/admin-tokens',
  scope: 'admin',
  summary: 'make a token and print it, this once',
  input: z.strictObject({ name: textField('who or what will use it', { most: 40 }), scopes }),
  output: NewAdminTokenShape,
  problems: [409],
  answers: { 201: 'The token, this once.' },
  example: { body: { name: 'crm-sync', scopes: ['tokens'] } },
  command: {
    name: 'admin-tokens add',
    args: '<name>',
    examples: ['billing --scopes tokens', 'ann --scopes read,write'],
    writesTokens: true,
  },
  run: async ({ actions }, { input: { name, scopes: wanted }, who }) => {
    // In one order.
    const given = SCOPES.filter((one) => wanted.includes(one))
    const token = await actions.addAdminToken(name, given, who)
    if (token !== 'taken') return { name, scopes: given, token: token.reveal() }
    throw new Refusal('conflict', `there is a token ${name} already`, {
      hint: `plimsoll admin-tokens remove ${name} ends it`,
    })
  },
  statusOf: () => ({ status: 201 }),
  table: ({ token }) => [token],
  notes: ({ name, scopes: given }) => [`Keep it: it is shown this once. ${name} may: ${given.join(', ')}`],
})

export const removeAdminToken = operation({
  id: 'removeAdminToken',
  method: 'DELETE',
  path: '/admin-tokens/{name}',
  scope: 'admin',
  summary: 'end a token, and all sessions that it began',
  input: z.strictObject({ name: textField('the token') }),
  output: RemovedAdminTokenShape,
  problems: [404],
  example: { params: { name: 'billing' } },
  command: {
    name: 'admin-tokens remove',
    args: '<name>',
    examples: ['billing'],
    confirm: { question: 'The admin token {name} and all sessions that it began end.', answer: '{name}' },
  },
  run: async ({ actions }, { input: { name }, who }) => {
    const removed = await actions.removeAdminToken(name, who)
    if (removed.is === 'removed') return { name, ...removed }
    throw new Refusal('unknown', `there is no token ${name}`, { hint: 'plimsoll admin-tokens list shows all' })
  },
  json: ({ name }) => ({ name, outcome: 'removed' }),
  table: ({ name, left, opens }) => [
    `${name} is removed: the daemon refuses it within two seconds`,
    ...(left === 0 ? [`It was the last named token. Pages and API now accept ${opens}`] : []),
  ],
})

export const rekey = operation({
  id: 'rekey',
  method: 'POST',
  path: '/keys/rekey',
  scope: 'admin',
  summary: 'encrypt all stored tokens with the first key of encryption.keys, while the daemon runs',
  description: 'Nothing is replaced twice: one that was stopped is simply asked for again.',
  input: z.strictObject({}),
  output: RekeyedShape,
  command: {
    name: 'keys rekey',
    confirm: {
      question: 'All stored tokens will be encrypted with the first key of encryption.keys. Is that key backed up?',
      answer: 'yes',
    },
    busy: 'accounts',
    writesTokens: true,
    allowsMissingKeys: true,
  },
  run: ({ actions }, { who, stop, onlooker }) => {
    const watcher = {
      progress: (done: number, total: number) => onlooker?.progress(done, total),
      waiting: (writers: readonly Writer[]) => {
        const named = writers.map(({ daemon, keyId }) => `${daemon} with key ${keyId}`).join(', ')
        onlooker?.note(`waiting for processes that still encrypt with another key: ${named}`)
      },
      signal: stop,
    }
    return actions.rekey(watcher, who)
  },
  json: ({ is, keyId, writers, writingKeys, ...counts }): RekeyedShape => {
    const named = writers.map(({ daemon, keyId: key }) => ({ daemon, keyId: key }))
    return { outcome: is, key: keyId, ...counts, ...(is === 'writing' ? { writingKeys, writers: named } : {}) }
  },
  table: ({ is, keyId, accounts, replaced, unopened, removable, needed }) => {
    const isAll = is === 'clean' && unopened.length === 0 && needed.length === 0
    const free = `it may be taken out of encryption.keys everywhere, then send each daemon SIGHUP`
    return [
      `${countOf(accounts, 'account')}: ${countOf(replaced, 'value')} encrypted with key ${keyId}`,
      ...unopened.map(
        ({ hubId, fields, reason }) => `account ${hubId}: ${fields.join(', ')} left as it was: ${reason}`,
      ),
      ...(isAll ? [`everything is encrypted with key ${keyId}`] : []),
      ...(removable.length === 0 ? [] : [`nothing is encrypted with key ${removable.join(', ')}: ${free}`]),
    ]
  },
  fails: whyNotDone,
})

function whyNotDone({ is, unopened, needed, writers, writingKeys }: Rekeyed): string | undefined {
  if (is === 'stopped') return 'stopped: run it again, it continues where it stopped'
  if (is === 'writing') {
    const who = writers.length === 0 ? '' : ` (${writers.map(({ daemon }) => daemon).join(', ')})`
    return `another process still writes with key ${writingKeys.join(', ')}${who}: send a daemon SIGHUP, let a command end, then run this again`
  }
  if (needed.length > 0) {
    const who = needed.map(({ daemon, key }) => `${daemon} needs key ${key}`).join(', ')
    return `${who} for new tokens in its data folder: its /readyz shows why they could not be encrypted again. Keep the key until then, and run this again`
  }
  if (unopened.length === 0) return undefined
  return `tokens of ${countOf(unopened.length, 'account')} were left as they were: add the key that is missing to encryption.keys, or have the customer connect again`
}
