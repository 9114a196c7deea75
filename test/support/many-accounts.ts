import type { Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { planRefresh, shareOf } from '../../src/tokens/plan-refresh.ts'
import { createVault } from '../../src/tokens/vault.ts'
import { formatAccess } from './accounts.ts'

export const FIRST_HUB_ID = 20_000_000
export const KEY = { id: 'k1', key: Buffer.alloc(32, 1) }

/** When in its life a token is refreshed: as the config has it by default. */
export const SHARES = { refreshFrom: 0.5, refreshBy: 0.8 }

/** Accounts whose commands travel together. */
const AT_ONCE = 2_000

/** When a token was made and when it ends, and when the account is polled, ms. */
export interface Turn {
  obtainedAt: number
  expiresAt: number
  pollAt: number
  /** Another moment than its token's life has it. */
  refreshAt?: number
}

/** Accounts as a connect leaves them, one after the other: 100,000 take some five seconds. */
export async function seedFleet(store: Store, keys: Keys, count: number): Promise<void> {
  const vault = createVault([KEY])
  await eachAccount(store, { from: 0, count }, (commands, hubId) => {
    const own = keys.account(hubId)
    const { state, fresh } = keys
    commands.hset(own.account, {
      state: 'active',
      hubDomain: domainOf(hubId),
      version: 1,
      connectedAt: 1,
      user: `admin@${domainOf(hubId)}`,
      firstConnectedAt: 1,
      refreshedAt: 1,
    })
    const sealed = vault.seal(new Secret(accessTokenOf(hubId)), hubId, 'access')
    const times = { obtainedAt: 0, expiresAt: 0 } // Until they are planned.
    commands.set(own.access, formatAccess({ version: '1', times, hubDomain: domainOf(hubId), sealed }))
    commands.hset(own.tokens, {
      refresh: vault.seal(new Secret(refreshTokenOf(hubId)), hubId, 'refresh'),
      scopes: 'oauth crm.objects.contacts.read crm.schemas.custom.read',
    })
    commands.zadd(state.active, hubId, hubId)
    commands.zadd(fresh, Date.now(), hubId)
  })
}

/** Of an access token as it is stored. */
const MOVE_LIFE = `
local version, others = string.match(redis.call('GET', KEYS[1]), '^(%d+) %d+ %d+( .*)$')
return redis.call('SET', KEYS[1], version .. ' ' .. ARGV[1] .. ' ' .. ARGV[2] .. others)`

/** Gives accounts other tokens' lives and other turns; where there is none, the account stays as it is. */
export async function plan(
  store: Store,
  keys: Keys,
  accounts: { from: number; count: number; turn(place: number): Turn | undefined },
): Promise<void> {
  const moveLife = String(await store.script('LOAD', MOVE_LIFE))
  await eachAccount(store, accounts, (commands, hubId) => {
    const turn = accounts.turn(hubId - FIRST_HUB_ID)
    if (turn === undefined) return
    const { obtainedAt, expiresAt, pollAt } = turn
    const { dueAt } = planRefresh(hubId, { obtainedAt, expiresAt }, SHARES)
    const { due } = keys
    const own = keys.account(hubId)
    commands.hset(own.account, { obtainedAt, expiresAt, refreshedAt: obtainedAt })
    commands.evalsha(moveLife, 1, own.access, obtainedAt, expiresAt)
    commands.zadd(due.refresh, turn.refreshAt ?? dueAt, hubId)
    commands.zadd(due.poll, pollAt, hubId)
  })
}

/** The life of a token that is due at a moment. */
export function lifeUntilDue(place: number, dueAt: number, lifeMs: number): { obtainedAt: number; expiresAt: number } {
  // Rounded down: nobody may come to be due a moment later.
  const obtainedAt = Math.floor(dueAt - lifeMs * shareOfLife(place))
  return { obtainedAt, expiresAt: obtainedAt + lifeMs }
}

/** After which share of its token's life the account is refreshed. */
export function shareOfLife(place: number): number {
  return SHARES.refreshFrom + (SHARES.refreshBy - SHARES.refreshFrom) * shareOf(FIRST_HUB_ID + place)
}

export function domainOf(hubId: number): string {
  return `customer-${hubId}.example.com`
}

/** Tokens are as long as real ones and end with the account's id, so that a far side answers every account without knowing any. */
const HUB_ID_LENGTH = 12
const FILLER = 'A'.repeat(400 - 2 * HUB_ID_LENGTH - 2)

export function refreshTokenOf(hubId: number): string {
  return `na1-6f18f21e-a743-4509-b7fd-${twelve(hubId)}`
}

/** `issue`: each new token of an account is another one. */
export function accessTokenOf(hubId: number, issue = 0): string {
  return `${FILLER}-${twelve(issue)}-${twelve(hubId)}`
}

export function hubIdIn(token: string): number {
  return Number(token.slice(-HUB_ID_LENGTH))
}

function twelve(value: number): string {
  return String(value).padStart(HUB_ID_LENGTH, '0')
}

/** Adds the commands of each account, and sends those of many together. */
export async function eachAccount(
  store: Store,
  { from, count }: { from: number; count: number },
  add: (commands: ReturnType<Store['pipeline']>, hubId: number) => void,
): Promise<void> {
  const end = FIRST_HUB_ID + from + count
  for (let first = FIRST_HUB_ID + from; first < end; first += AT_ONCE) {
    const commands = store.pipeline()
    for (let hubId = first; hubId < Math.min(first + AT_ONCE, end); hubId++) add(commands, hubId)
    for (const [error] of (await commands.exec()) ?? []) if (error !== null) throw error
  }
}
