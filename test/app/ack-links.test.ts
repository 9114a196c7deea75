import { expect, test } from 'vitest'
import { ackLinks, ackUrls } from '../../src/app/ack-links.ts'
import { NOBODY } from '../../src/redis/steps.ts'
import { createVault } from '../../src/tokens/vault.ts'
import { anAlert } from '../alerts/an-alert.ts'
import { configOf, SMALLEST } from '../config/load-text.ts'

const vault = createVault([{ id: 'k1', key: Buffer.alloc(32, 1) }])
const config = configOf(SMALLEST)
const NOW = Date.parse('2026-11-21T10:00:00Z')
const url = ackUrls(vault, config)

test('a message’s alert has an address under publicUrl that this installation signed, for as long as acknowledgeFor', () => {
  const address = new URL(url(anAlert({ id: '0123456789abcdef-4' }), NOW) ?? '')
  expect(address.origin + address.pathname).toBe('https://plimsoll.example.com/acknowledge')
  const query = Object.fromEntries(address.searchParams)
  const links = ackLinks(vault, () => config)
  const linked = { is: 'good', hubId: 123, alertId: '0123456789abcdef' }
  expect(links.read(query, NOW + config.alerts.acknowledgeFor - 1)).toMatchObject(linked)
  expect(links.read(query, NOW + config.alerts.acknowledgeFor)).toEqual({ is: 'expired' })
})

test('of an alert about the whole fleet too, which is nobody’s', () => {
  const alert = anAlert({ kind: 'fleet', id: '0123456789abcdef-1' })
  delete alert.account
  const address = new URL(url(alert, NOW) ?? '')
  expect(address.searchParams.get('account')).toBe(String(NOBODY))
})

test('what is over, or was never open, has none', () => {
  expect(url(anAlert({ status: 'resolved' }), NOW)).toBeUndefined()
  expect(url(anAlert({ kind: 'test' }), NOW)).toBeUndefined()
  expect(url(anAlert({ kind: 'limit-changed' }), NOW)).toBeUndefined()
})
