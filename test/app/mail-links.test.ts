import { expect, test } from 'vitest'
import { noteLines } from '../../config/schema/thresholds.ts'
import { readReconnectLink } from '../../src/accounts/install.ts'
import { ackLinks, mailLinks } from '../../src/app/receivers.ts'
import { NO_ACCOUNT } from '../../src/redis/steps.ts'
import { createVault } from '../../src/tokens/vault.ts'
import { anAlert } from '../alerts/an-alert.ts'
import { configOf, SMALLEST } from '../config/load-text.ts'

const vault = createVault([{ id: 'k1', key: Buffer.alloc(32, 1) }])
const config = configOf(SMALLEST)
const NOW = Date.parse('2026-11-21T10:00:00Z')
const links = mailLinks(config, vault, { now: () => NOW })
const series = { metric: 'associations.atLimit', from: '0-1', to: '0-2' }
const alert = anAlert({ id: '0123456789abcdef-4', series })

test('an alert has an address under publicUrl that this installation signed, for as long as acknowledgeFor', () => {
  const address = new URL(links.acknowledge?.(alert) ?? '')
  expect(address.origin + address.pathname).toBe('https://plimsoll.example.com/acknowledge')
  const query = Object.fromEntries(address.searchParams)
  const read = (now: number) => ackLinks(vault, config).read(query, now)
  const linked = { is: 'good', hubId: 123, alertId: '0123456789abcdef' }
  expect(read(NOW + config.alerts.acknowledgeFor - 1)).toMatchObject(linked)
  expect(read(NOW + config.alerts.acknowledgeFor)).toEqual({ is: 'expired' })
})

test('an alert about all accounts too, which is no account’s', () => {
  const { account: _, ...fleet } = anAlert({ kind: 'fleet', id: '0123456789abcdef-1' })
  const address = new URL(links.acknowledge?.(fleet) ?? '')
  expect(address.searchParams.get('account')).toBe(String(NO_ACCOUNT))
  expect(links.open?.(fleet)).toBe('https://plimsoll.example.com/alerts/0123456789abcdef')
  expect(links.reconnect?.(fleet)).toBeUndefined()
})

test('a mail leads to the page of the alert and to a silence of just this', () => {
  expect(links.open?.(alert)).toBe('https://plimsoll.example.com/alerts/0123456789abcdef?account=123')
  const { searchParams } = new URL(links.silence?.(alert) ?? '')
  const values = searchParams.getAll('value')
  expect(searchParams.getAll('name').map((name, n) => `${name}=${values[n]}`)).toEqual([
    'account=123',
    'series=associations.atLimit',
    'from=0-1',
    'to=0-2',
    'rule=customProperties.overall',
    'level=warning',
  ])
})

test('the config has a rule in a line, unless several have its name', () => {
  const rules = ['a', 'b', 'c', 'b'].map((name) => ({ name, on: '*' as const, match: {}, off: false }))
  noteLines(rules, (index) => 10 + index)
  const { rule } = mailLinks({ ...config, thresholds: rules }, vault, { now: () => NOW })
  expect(['a', 'b', 'c', 'd'].map((name) => rule?.(name))).toEqual([
    'thresholds line 10',
    undefined,
    'thresholds line 12',
    undefined,
  ])
})

test('to reconnect is for the account alone', () => {
  const query = Object.fromEntries(new URL(links.reconnect?.(alert) ?? '').searchParams)
  expect(readReconnectLink(vault, query, NOW)).toEqual({ is: 'good', hubId: 123 })
})
