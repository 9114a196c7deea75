import { encodeState } from '../../src/alerts/alert-state.ts'
import { PollStore } from '../../src/limits/poll-store.ts'
import { type Because, encodeTurn } from '../../src/limits/poll-turn.ts'
import { mergeReadings } from '../../src/limits/readings.ts'
import { readAssociationReport, readCustomPropertyReport } from '../../src/provider/answers.ts'
import type { Store } from '../../src/redis/connect.ts'
import { createKeys, PARTITIONS } from '../../src/redis/keys.ts'
import { accountStepKeys, NO_ALERT_WRITES, stepJson } from '../../src/redis/steps.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { createVault } from '../../src/tokens/vault.ts'
import type { Figure } from './figure.ts'
import { openMemoryGauge } from './redis-memory.ts'
import { reportsOf } from './reports.ts'

const ACCOUNTS = 2_000
const CONNECTED_AT = Date.UTC(2026, 0, 1)
const HOUR = 3_600_000

/**
 * P7, an account's record: both tokens encrypted, times and states, three open alerts, the last full reports, written by
 * the daemon's own steps; against what people write, one JSON text per account with the answers as they came, and the
 * tokens in clear. Without the due sets, which are a row of their own, and without history.
 */
export const accountRecords: Figure = {
  id: 'P7',
  rows: [
    {
      what: 'record of an account: sealed tokens, states, last report, against one JSON in clear; lower is better',
      unit: 'Redis bytes per account',
    },
  ],
  open: async () => {
    const gauge = await openMemoryGauge()
    // Scripts and tables that a server keeps for good are no account's bytes.
    await gauge.growth(fillRecords)
    return {
      ours: async () => [(await gauge.growth(fillRecords)) / ACCOUNTS],
      reference: async () => [(await gauge.growth(fillJson)) / ACCOUNTS],
      close: () => gauge.close(),
    }
  },
}

async function fillRecords(store: Store): Promise<void> {
  const keys = createKeys('bench')
  const vault = createVault([{ id: 'k1', key: Buffer.alloc(32, 1) }])
  const polls = new PollStore(store, keys)
  for (const account of accounts()) {
    const { hubId, hubDomain, user, scopes, accessToken, refreshToken, obtainedAt, expiresAt, alerts } = account
    await store.connectAccount(
      ...accountStepKeys(keys, hubId),
      keys.partition(keys.partitionOf(hubId)).forgotten,
      ...[hubId, obtainedAt],
      vault.seal(new Secret(accessToken), hubId, 'access'),
      vault.seal(new Secret(refreshToken), hubId, 'refresh'),
      ...[scopes.join(' '), obtainedAt, expiresAt, obtainedAt],
      ...[stepJson({ hubDomain, user }), stepJson(NO_ALERT_WRITES)],
    )
    await polls.commit(hubId, {
      ...{ polls: '0', at: obtainedAt, nextAt: obtainedAt, fields: fieldsOf(obtainedAt) },
      ...{ readings: readings(account), history: [], historyFrom: 0 },
      alerts: { changes: Object.entries(alerts).map(([series, state]) => [series, '', state]), messages: [] },
    })
  }
  const due = Array.from({ length: PARTITIONS }, (_, number) => Object.values(keys.partition(number).due))
  await Promise.all(due.map((names) => store.del(names)))
}

/** As a poll leaves them that found the account near a threshold. */
function fieldsOf(at: number): Record<string, string> {
  const because: Because = {
    ...{ is: 'near', series: 'type/0-1', usage: 930, limit: 1_000, level: 'warning', move: 'enter' },
    ...{ asks: 'percent', of: 95, since: at },
  }
  const turn = encodeTurn({ regularAt: at, urgency: 1, because })
  return { polledAt: String(at), changedAt: String(at), pollBecause: turn }
}

async function fillJson(store: Store): Promise<void> {
  for (const account of accounts()) await store.set(`account:${account.hubId}`, JSON.stringify(account))
}

function readings({ obtainedAt, customProperties, associations }: ReturnType<typeof accountOf>) {
  const reports = Object.entries(associations).map(([pair, report]) => [pair, readAssociationReport(report)] as const)
  return mergeReadings(undefined, {
    at: obtainedAt,
    customProperties: readCustomPropertyReport(customProperties),
    associations: new Map(reports),
  })
}

function accounts() {
  return Array.from({ length: ACCOUNTS }, (_, n) => accountOf(20_000_000 + n * 7_919))
}

function accountOf(hubId: number) {
  const obtainedAt = CONNECTED_AT + hubId
  return {
    ...{ hubId, hubDomain: `customer-${hubId}.example.com`, user: `admin@customer-${hubId}.example.com` },
    ...{ state: 'active', scopes: ['oauth', 'crm.objects.contacts.read', 'crm.schemas.custom.read'] },
    accessToken: `${hubId}`.repeat(50),
    refreshToken: `na1-6f18f21e-a743-4509-b7fd-${String(hubId).padStart(12, '0')}`,
    ...{ obtainedAt, expiresAt: obtainedAt + HOUR / 2, refreshedAt: obtainedAt },
    alerts: Object.fromEntries(['overall', 'type/0-1', 'at/0-1/0-2'].map((series) => [series, openAlert(obtainedAt)])),
    ...reportsOf(hubId),
  }
}

function openAlert(since: number): string {
  const said = { level: 'warning' as const, usage: 812, at: since }
  const state = { level: 'warning' as const, rule: 'custom-properties', since, messages: 2, messageAt: since }
  return encodeState({ ...state, said, pending: null })
}
