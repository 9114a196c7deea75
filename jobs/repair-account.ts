import { isUtf8 } from 'node:buffer'
import { Registry } from '../src/accounts/registry.ts'
import { POLL_FIELD, readableState } from '../src/alerts/alert-state.ts'
import type { UnreadableAnnouncer } from '../src/alerts/kinds/poll-alert.ts'
import { decodeForecasts } from '../src/limits/forecast/stored-forecasts.ts'
import { History } from '../src/limits/history/history.ts'
import { UnreadableBytes, UnreadableKey } from '../src/limits/history/packed-bytes.ts'
import { decodeReadings } from '../src/limits/history/packed-readings.ts'
import { decodeSamples } from '../src/limits/samples.ts'
import { decodeWatch, encodeWatch } from '../src/limits/watch/packed-watch.ts'
import { NEW_WATCH, type PollFailure } from '../src/limits/watch/watch.ts'
import { unreadableFields } from '../src/redis/account-record.ts'
import type { Store } from '../src/redis/connect.ts'
import { type AccountKeys, type AccountState, asideOf, type Keys } from '../src/redis/keys.ts'
import { NO_ALERT_WRITES, stepJson } from '../src/redis/steps.ts'
import type { Clock } from '../src/runtime/clock.ts'
import type { Logger } from '../src/runtime/logger.ts'
import { LAST_MOMENT } from '../src/runtime/moment.ts'
import { parseAccess } from '../src/tokens/stored-access.ts'
import type { Queues } from './queues.ts'

export interface RepairWork {
  store: Store
  keys: Keys
  queues: Pick<Queues, 'wake'>
  announceUnreadable: UnreadableAnnouncer
  clock: Clock
  log: Logger
}

type KeyName = keyof AccountKeys
type Account = { store: Store; keys: Keys; hubId: number; own: AccountKeys }

/** Values that were put aside are kept for so long, for an operator to examine. */
const KEPT_MS = 30 * 86_400_000

/** Types of an account's keys. */
const TYPES: Readonly<Record<KeyName, 'hash' | 'string' | 'list'>> = {
  account: 'hash',
  tokens: 'hash',
  alerts: 'hash',
  history: 'list',
  transitions: 'list',
  access: 'string',
  watch: 'string',
  samples: 'string',
  forecast: 'string',
  paused: 'string',
}

/** Checks whether a key's value can be read, where its type is right. Fields of the hashes are reported one by one. */
const IS_READABLE: Partial<Record<KeyName, (account: Account) => Promise<boolean>>> = {
  // No step could replace an alert under such a name.
  alerts: async ({ store, own }) => (await store.hkeysBuffer(own.alerts)).every(isUtf8),
  access: async ({ store, own }) => parseAccess(await store.getBuffer(own.access)) !== undefined,
  watch: ({ store, own }) => isPacked(store.getBuffer(own.watch), readWhole),
  samples: ({ store, own }) => isPacked(store.getBuffer(own.samples), decodeSamples),
  history: async ({ store, keys, hubId }) => {
    const failed = await new History(store, keys).changes(hubId).catch((error: unknown) => error)
    if (failed instanceof Error && !(failed instanceof UnreadableKey)) throw failed
    return !(failed instanceof UnreadableKey)
  },
  forecast: async ({ store, own }) => {
    const stored = await store.get(own.forecast)
    return stored === null || decodeForecasts(stored) !== undefined
  },
  paused: async ({ store, own }) => isNumber((await store.get(own.paused)) ?? '0'),
}

/** Fields that every account's record has. */
const NEVER_MISSING = ['state', 'version', 'connectedAt', 'obtainedAt', 'expiresAt']

/** The unreadable values of an account. */
interface Unreadable {
  keys: KeyName[]
  fields: string[]
  alerts: string[]
}

/**
 * Puts aside what can't be read of an account, so that its next work goes on without it. What is lost with it is said in the
 * log, and by the account's poll alert.
 */
export async function repairAccount(deps: RepairWork, hubId: number): Promise<void> {
  const { store, keys, clock, log, queues } = deps
  const state = await new Registry(store, keys).listedIn(hubId)
  if (state === undefined) return
  const found = await findUnreadable({ store, keys, hubId, own: keys.account(hubId) })
  const all = [...found.keys, ...found.fields, ...found.alerts.map((field) => `alert ${field}`)]
  if (all.length === 0) return
  const now = clock.now()
  const what = `Stored data of this account could not be read: ${all.join(', ')}.${asideText(found.keys)}`
  const isPolled = state !== 'uninstalling' && state !== 'uninstalled' && state !== 'reauthorize'
  const failing: PollFailure = { count: 1, reason: `unreadable: ${all.join(', ')}`, at: now, since: now }
  const repaired = {
    aside: found.keys.map((name) => keys.account(hubId)[name]),
    keptMs: KEPT_MS,
    alerts: found.alerts,
    ...recordAfter(found, state, now),
    failing: isPolled,
    writes: isPolled ? deps.announceUnreadable(await subjectOf(deps, hubId, found), what) : NO_ALERT_WRITES,
  }
  const stored = found.keys.includes('watch') ? null : await store.getBuffer(keys.account(hubId).watch)
  const { watch, readings } = stored === null ? { watch: NEW_WATCH, readings: undefined } : decodeWatch(stored)
  const after = isPolled ? encodeWatch({ ...watch, failing }, readings) : ''
  await store.repairAccount(keys.own(hubId), hubId, now, stepJson(repaired), stored ?? '', after)
  log.error({ code: 'account.unreadable', hubId, unreadable: all }, what)
  await Promise.all([queues.wake('alerts', now), queues.wake('poll-limits', now)])
}

async function findUnreadable(account: Account): Promise<Unreadable> {
  const { store, own } = account
  const names = Object.keys(TYPES) as KeyName[]
  const types = await Promise.all(names.map((name) => store.type(own[name])))
  const isOfType = (name: KeyName) => types[names.indexOf(name)] === TYPES[name]
  const isThere = (name: KeyName) => types[names.indexOf(name)] !== 'none'
  const unreadable = new Set(names.filter((name) => isThere(name) && !isOfType(name)))
  for (const [name, isReadable] of Object.entries(IS_READABLE) as [KeyName, (of: Account) => Promise<boolean>][]) {
    // The history is read from the readings: without these it means nothing.
    const isLost = name === 'history' && unreadable.has('watch') && isThere(name)
    if (isLost || (isOfType(name) && !(await isReadable(account)))) unreadable.add(name)
  }
  const record = isOfType('account') ? await store.hgetall(own.account) : undefined
  const missing = NEVER_MISSING.filter((name) => record !== undefined && record[name] === undefined)
  const alerts = isOfType('alerts') && !unreadable.has('alerts') ? Object.entries(await store.hgetall(own.alerts)) : []
  return {
    keys: [...unreadable],
    fields: record === undefined ? [] : [...unreadableFields(record), ...missing],
    alerts: alerts.flatMap(([field, stored]) => (readableState(stored) === undefined ? [field] : [])),
  }
}

/** @throws UnreadableBytes */
function readWhole(stored: Buffer): void {
  const { readings } = decodeWatch(stored)
  if (readings !== undefined) decodeReadings(readings)
}

async function isPacked(asked: Promise<Buffer | null>, decode: (stored: Buffer) => unknown): Promise<boolean> {
  const stored = await asked
  try {
    if (stored !== null) decode(stored)
    return true
  } catch (error) {
    if (!(error instanceof UnreadableBytes)) throw error
    return false
  }
}

const isNumber = (text: string) => /^\d{1,16}(\.\d+)?$/.test(text) && Number(text) <= LAST_MOMENT

/** A version that no tokens of the account had: new ones that are under way are kept beside those there are. */
const versionAt = (now: number) => String(Math.floor(now / 1_000) * 1_000_000)

/** The account's record, and the state that it is in from now on ('' = as it is). A lost record is as after an import. */
function recordAfter(
  { keys, fields }: Unreadable,
  state: AccountState,
  now: number,
): { fields: Record<string, string>; state: string; refreshNow: boolean } {
  const isLost = keys.includes('account')
  const isGone = (name: string) => isLost || fields.includes(name)
  const repaired = {
    ...Object.fromEntries(fields.map((name) => [name, ''])),
    ...(isGone('version') && { version: versionAt(now) }),
    ...(isGone('connectedAt') && { connectedAt: String(now) }),
    ...((isGone('obtainedAt') || isGone('expiresAt')) && { obtainedAt: '0', expiresAt: '0' }),
    ...(isLost && { firstConnectedAt: String(now), metadataDue: '1' }),
    ...(isGone('uninstallAskedAt') && state === 'uninstalling' && askedAt(now)),
    ...(isGone('purgeAt') && state === 'uninstalled' && { ...askedAt(now), purgeAt: String(now) }),
  }
  const states = { failing: 'active', parked: 'active' } as const
  const known = state === 'failing' || state === 'parked' ? states[state] : state
  return {
    fields: repaired,
    state: isLost || fields.includes('state') ? known : '',
    refreshNow: 'obtainedAt' in repaired || keys.includes('access'),
  }
}

function askedAt(now: number): Record<string, string> {
  return { uninstallAskedAt: String(now), uninstallReason: 'its record could not be read', uninstallBy: 'evidence' }
}

async function subjectOf({ store, keys, clock }: RepairWork, hubId: number, found: Unreadable) {
  const { account, alerts } = keys.account(hubId)
  const isReadable = !found.keys.includes('alerts') && !found.alerts.includes(POLL_FIELD)
  const [hubDomain, pollAlert] = await Promise.all([
    found.keys.includes('account') ? null : store.hget(account, 'hubDomain'),
    isReadable ? store.hget(alerts, POLL_FIELD) : null,
  ])
  return { hubId, hubDomain: hubDomain ?? '', pollAlert: pollAlert ?? '', now: clock.now() }
}

function asideText(names: readonly KeyName[]): string {
  return names.length === 0 ? '' : ` It is kept for 30 days beside it (${asideOf(names.join(', '))}).`
}
