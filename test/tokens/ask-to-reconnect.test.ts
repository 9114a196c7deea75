import { expect, test } from 'vitest'
import { reconnectMailEvery } from '../../src/tokens/ask-to-reconnect.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const now = 100 * DAY

/** For an account that was lost so long ago, with others that were. */
function every(ago: number, { others = [] as number[], accounts = 100, isSentAlert = false } = {}) {
  const lost = [ago, ...others].map((one) => ({ since: now - one }))
  return reconnectMailEvery({ since: now - ago, isSentAlert }, { lost, accounts, now })
}

test('a day in the first week, a week after that', () => {
  expect(every(1)).toBe(DAY)
  expect(every(7 * DAY - 1)).toBe(DAY)
  expect(every(7 * DAY)).toBe(7 * DAY)
})

test('not in the first day where a route sends the alert itself to the contact', () => {
  expect(every(DAY - 1, { isSentAlert: true })).toBeUndefined()
  expect(every(DAY, { isSentAlert: true })).toBe(DAY)
})

test('not in the first day of a loss that many share: five, or a hundredth of all accounts where that is more', () => {
  const four = [HOUR, 2 * HOUR, 2 * HOUR, 2 * HOUR]
  expect(every(2 * HOUR, { others: four })).toBeUndefined()
  expect(every(2 * HOUR, { others: four.slice(1) })).toBe(DAY)
  expect(every(2 * HOUR, { others: four.map((ago) => ago + 2 * HOUR) })).toBe(DAY)
  expect(every(2 * HOUR, { others: four, accounts: 1_000 })).toBe(DAY)
  expect(every(DAY, { others: four.map((ago) => ago + DAY - 2 * HOUR) })).toBe(DAY)
})
