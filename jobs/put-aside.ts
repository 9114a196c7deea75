import { Registry } from '../src/accounts/registry.ts'
import { POLL_FIELD } from '../src/alerts/alert-state.ts'
import type { UnreadableAnnouncer } from '../src/alerts/kinds/poll-alert.ts'
import { History } from '../src/limits/history/history.ts'
import { isReadableRecord, UnreadableData } from '../src/redis/account-record.ts'
import type { Store } from '../src/redis/connect.ts'
import { type AccountKeys, asideOf, type Keys } from '../src/redis/keys.ts'
import { NO_ALERT_WRITES, stepJson } from '../src/redis/steps.ts'
import type { Clock } from '../src/runtime/clock.ts'
import type { Logger } from '../src/runtime/logger.ts'
import type { Queues } from './queues.ts'

interface PutAsideWork {
  store: Store
  keys: Keys
  queues: Pick<Queues, 'wake'>
  announceUnreadable: UnreadableAnnouncer
  clock: Clock
  log: Logger
}

type KeyName = keyof AccountKeys

/** Values that were put aside are kept for so long, for an operator to examine. */
const KEPT_MS = 30 * 86_400_000

const HASHES: readonly KeyName[] = ['account', 'tokens', 'alerts']
const LISTS: readonly KeyName[] = ['history', 'transitions']

/**
 * Puts aside what can't be read of an account after its work has failed, so that the next work goes on without it. What is not
 * checked here is written over by that work.
 */
export async function putAside(deps: PutAsideWork, hubId: number): Promise<void> {
  const { store, keys, clock, log, queues } = deps
  const state = await new Registry(store, keys).listedIn(hubId)
  const names = state === undefined ? [] : await unreadableKeys(store, keys, hubId)
  if (state === undefined || names.length === 0) return
  const now = clock.now()
  const what = `Stored data of this account could not be read: ${names.join(', ')}. It is kept for 30 days beside it (${asideOf(names.join(', '))}).`
  const isPolled = state !== 'uninstalling' && state !== 'uninstalled' && state !== 'reauthorize'
  const alerts = isPolled ? deps.announceUnreadable(await subjectOf(deps, hubId), what) : NO_ALERT_WRITES
  const moved = names.map((name) => keys.account(hubId)[name])
  await store.putAside(keys.own(hubId), hubId, now, state, KEPT_MS, stepJson(alerts), ...moved)
  log.error({ code: 'account.unreadable', hubId, unreadable: names }, what)
  await Promise.all([queues.wake('alerts', now), queues.wake('poll-limits', now)])
}

async function unreadableKeys(store: Store, keys: Keys, hubId: number): Promise<KeyName[]> {
  const own = keys.account(hubId)
  const names = Object.keys(own) as KeyName[]
  const types = await Promise.all(names.map((name) => store.type(own[name])))
  const found = new Set(names.filter((name, n) => types[n] !== 'none' && types[n] !== typeOf(name)))
  if (!isReadableRecord(await store.hgetall(own.account))) found.add('account')
  // The history is read from the last numbers: without these it means nothing.
  const isRead = await new History(store, keys).changes(hubId).then(() => true, whereUnreadable)
  if (!isRead) found.add('poll').add('history')
  return names.filter((name) => found.has(name))
}

function typeOf(name: KeyName): string {
  if (HASHES.includes(name)) return 'hash'
  return LISTS.includes(name) ? 'list' : 'string'
}

function whereUnreadable(error: unknown): false {
  if (error instanceof UnreadableData) return false
  throw error
}

async function subjectOf({ store, keys, clock }: PutAsideWork, hubId: number) {
  const { account, alerts } = keys.account(hubId)
  const [hubDomain, pollAlert] = await Promise.all([store.hget(account, 'hubDomain'), store.hget(alerts, POLL_FIELD)])
  return { hubId, hubDomain: hubDomain ?? '', pollAlert: pollAlert ?? '', now: clock.now() }
}
