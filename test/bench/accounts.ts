import { encodeState } from '../../src/alerts/alert-state.ts'
import type { Fetched } from '../../src/limits/readings.ts'
import type { Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { type AlertWrites, NO_ALERT_WRITES, newOperation, stepJson } from '../../src/redis/steps.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { createVault } from '../../src/tokens/vault.ts'
import { readBody } from '../limits/reports.ts'
import { CROSSES_NOBODY } from '../support/accounts.ts'
import { reportsOf } from './reports.ts'

const CONNECTED_AT = Date.UTC(2026, 0, 1)
const HOUR = 3_600_000

/** An account with everything that is known of it, and three open alerts. The same for the same id. */
export type BenchAccount = ReturnType<typeof accountOf>

export function accountOf(hubId: number) {
  const obtainedAt = CONNECTED_AT + hubId
  return {
    ...{ hubId, hubDomain: `customer-${hubId}.example.com`, user: `admin@customer-${hubId}.example.com` },
    ...{ state: 'active', scopes: ['oauth', 'crm.objects.contacts.read', 'crm.schemas.custom.read'] },
    accessToken: `${hubId}`.repeat(50),
    refreshToken: `na1-6f18f21e-a743-4509-b7fd-${String(hubId).padStart(12, '0')}`,
    ...{ obtainedAt, expiresAt: obtainedAt + HOUR / 2, refreshedAt: obtainedAt },
    alerts: {
      ...{ overall: openAlert(obtainedAt), 'type/0-1': openAlert(obtainedAt) },
      // As many records named as a message shows.
      'at/0-1/0-2': openAlert(obtainedAt, {
        records: Array.from({ length: 10 }, (_, n) => 40_000_000_000 + hubId + n),
      }),
    },
    ...reportsOf(hubId),
  }
}

/** Ids as long as real ones, of accounts in no order. */
export function accountsOf(count: number): BenchAccount[] {
  return Array.from({ length: count }, (_, n) => accountOf(20_000_000 + n * 7_919))
}

function openAlert(since: number, named: { records?: number[] } = {}): string {
  const said = { level: 'warning' as const, usage: 812, at: since, ...named }
  const state = { level: 'warning' as const, rule: 'custom-properties', since, transitions: 2, sentAt: since }
  return encodeState({ ...state, lastSent: said, pending: null })
}

export const VAULT_KEY = Buffer.alloc(32, 1)
const vault = createVault([{ id: 'k1', key: VAULT_KEY }])

/** Through the daemon's own step. */
export async function connectAccount(store: Store, keys: Keys, account: BenchAccount): Promise<void> {
  const { hubId, hubDomain, user, scopes, accessToken, refreshToken, obtainedAt, expiresAt } = account
  await store.connectAccount(
    keys.own(hubId),
    ...[hubId, obtainedAt],
    vault.seal(new Secret(accessToken), hubId, 'access'),
    vault.seal(new Secret(refreshToken), hubId, 'refresh'),
    ...[scopes.join(' '), obtainedAt, expiresAt, obtainedAt],
    ...[stepJson({ hubDomain, user }), stepJson(NO_ALERT_WRITES), newOperation(), ...CROSSES_NOBODY],
  )
}

export function alertsOf({ alerts }: BenchAccount): AlertWrites {
  return { changes: Object.entries(alerts).map(([series, state]) => [series, '', state]), entries: [] }
}

/** What a poll at `at` gets. */
export function fetchedOf({ customProperties, associations }: BenchAccount, at: number): Fetched {
  const bodies: [key: string, body: object][] = [
    ['customProperties', customProperties],
    ...Object.entries(associations).map(([pair, body]): [string, object] => [`associations/${pair}`, body]),
  ]
  return { at, reports: new Map(bodies.map(([key, body]) => [key, readBody(key, body)])) }
}
