import { randomBytes } from 'node:crypto'
import type { Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { NO_ACCOUNT, NO_ALERT_WRITES } from '../../src/redis/steps.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { readAccess, type StoredAccess } from '../../src/tokens/stored-access.ts'
import type { AnswerToStore } from '../../src/tokens/token-store.ts'
import { createVault, type TokenField, type Vault, type VaultKey } from '../../src/tokens/vault.ts'

export const vaultKey: VaultKey = { id: 'k1', key: randomBytes(32) }
export const vault: Vault = createVault([vaultKey])

export interface SeededAccount {
  hubId?: number
  hubDomain?: string
  accessToken?: string
  refreshToken?: string
  obtainedAt: number
  lifeMs?: number
}

/** Of an account that is seeded for the first time: the intents of a test itself are all higher. */
export const SEEDED_VERSION = '1000000'

/** The answer to the first refresh of a seeded account. */
export function anAnswer(hubId: number, now: number, more: Partial<AnswerToStore>): AnswerToStore {
  return {
    hubId,
    claim: 1.5,
    version: SEEDED_VERSION,
    access: new Secret('access-2'),
    refresh: new Secret('refresh-2'),
    times: { obtainedAt: now, expiresAt: now + 1_800_000 },
    refreshAt: now + 900_000,
    pollAt: 'unchanged',
    alerts: NO_ALERT_WRITES,
    ...more,
  }
}

/** An account as the callback leaves it: connected, active, refresh planned at three fifths of its token's life. */
export async function seedAccount(store: Store, keys: Keys, account: SeededAccount): Promise<void> {
  const { hubId = 123, hubDomain = 'acme.example.com', obtainedAt, lifeMs = 1_800_000 } = account
  const { accessToken = 'access-1', refreshToken = 'refresh-1' } = account
  const isKnown = await store.exists(keys.own(hubId))
  const version = isKnown === 0 ? SEEDED_VERSION : await store.takeIntent(keys.own(NO_ACCOUNT))
  const is = await store.connectAccount(
    keys.own(hubId),
    hubId,
    obtainedAt,
    vault.seal(new Secret(accessToken), hubId, 'access'),
    vault.seal(new Secret(refreshToken), hubId, 'refresh'),
    'oauth crm.objects.contacts.read',
    obtainedAt,
    obtainedAt + lifeMs,
    obtainedAt + Math.floor(lifeMs * 0.6),
    JSON.stringify({ hubDomain }),
    JSON.stringify(NO_ALERT_WRITES),
    version,
    'a-grant',
    '',
    '',
  )
  if (is === 'stale') throw new Error('somebody else is at this account')
}

/** How long a refresh has its account. */
export const REFRESH_CLAIM_MS = 25_000

/** The claim of the refresh that is under way, and for how long it lasts. */
export async function refreshUnderWay(store: Store, keys: Keys, hubId = 123) {
  const [claim, now] = [Number(await store.zscore(keys.due.refresh, hubId)), await store.readTime(keys.fleet)]
  return claim % 1 > 0 && claim > now ? { claim, leftMs: claim - now } : undefined
}

/** As a worker claims the account for its refresh. */
export async function claimRefresh(store: Store, keys: Keys, hubId = 123, ms = REFRESH_CLAIM_MS): Promise<number> {
  claims++
  const claim = (await store.readTime(keys.fleet)) + ms + (1 + (claims % 1_000)) / 1_024
  await store.zadd(keys.due.refresh, claim, hubId)
  return claim
}
let claims = 0

/** The account's access token as it is stored, still encrypted. */
export async function sealedAccess(store: Store, keys: Keys, hubId = 123): Promise<Buffer | undefined> {
  return (await readAccess(store, keys, hubId))?.sealed
}

/** Another value in the place of the account's access token; what is known with it is as the record has it. */
export async function putAccess(store: Store, keys: Keys, sealed: Buffer | string, hubId = 123): Promise<void> {
  const { account, access } = keys.account(hubId)
  const names = ['version', 'obtainedAt', 'expiresAt', 'hubDomain'] as const
  const [version, obtainedAt, expiresAt, hubDomain] = await store.hmget(account, ...names)
  const times = { obtainedAt: Number(obtainedAt ?? 0), expiresAt: Number(expiresAt ?? 0) }
  const text = { version: version ?? '1', times, hubDomain: hubDomain ?? '', sealed: Buffer.from(sealed) }
  await store.set(access, formatAccess(text))
}

/** Either token. */
export async function putToken(store: Store, keys: Keys, field: 'access' | 'refresh', sealed: Buffer, hubId = 123) {
  if (field === 'access') await putAccess(store, keys, sealed, hubId)
  else await store.hset(keys.account(hubId).tokens, field, sealed)
}

/** What stands in the store, in clear text; undefined where there is nothing. */
export async function storedTokens(store: Store, keys: Keys, hubId = 123) {
  const { tokens } = keys.account(hubId)
  const [refresh, previous] = await store.hmgetBuffer(tokens, 'refresh', 'previous')
  const open = (sealed: Buffer | null | undefined, field: TokenField) =>
    sealed == null ? undefined : vault.open(sealed, hubId, field).reveal()
  return {
    access: open(await sealedAccess(store, keys, hubId), 'access'),
    refresh: open(refresh, 'refresh'),
    previous: open(previous, 'refresh'),
  }
}

/** Every transition that was committed of an account. */
export async function outboxOf(store: Store, keys: Keys, hubId = 123): Promise<Record<string, unknown>[]> {
  const places = new Set(await store.lrange(keys.account(hubId).transitions, 0, -1))
  const entries = await store.xrange(keys.transitions, '-', '+')
  return entries.filter(([place]) => places.has(place)).map(([, fields]) => JSON.parse(fields[1] ?? '').alert)
}

/** Everything of a test, key by key, to compare before and after. */
export async function dump(store: Store, keys: Keys): Promise<Record<string, string | null>> {
  const names: string[] = []
  let cursor = '0'
  do {
    const [next, found] = await store.scan(cursor, 'MATCH', `{${keys.prefix}}:*`, 'COUNT', 1000)
    names.push(...found)
    cursor = next
  } while (cursor !== '0')
  const values = await Promise.all(
    names.sort().map(async (name) => [name, (await store.dumpBuffer(name))?.toString('hex') ?? null] as const),
  )
  return Object.fromEntries(values)
}

/** The access token as the steps store it. */
export function formatAccess({ version, times, hubDomain, sealed }: StoredAccess): Buffer {
  const domain = hubDomain.replaceAll('\n', ' ')
  return Buffer.concat([Buffer.from(`${version} ${times.obtainedAt} ${times.expiresAt} ${domain}\n`), sealed])
}
