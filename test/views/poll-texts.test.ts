import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { TurnBecause } from '../../src/limits/poll-state.ts'
import { pollBecause } from '../../src/views/poll-texts.ts'

const AT = Date.parse('2026-11-21T10:00:00.000Z')
const LABELS = new Map([['type/2-7', { label: 'Invoices\u202e' }]])

const told = (because: TurnBecause) => pollBecause({ regularAt: AT, because }, LABELS)
const near = (more: object): TurnBecause => ({
  is: 'near',
  series: 'overall',
  usage: 930,
  limit: 1_000,
  level: 'warning',
  move: 'enter',
  asks: 'percent',
  of: 95,
  ...more,
})

describe('why an account is polled next when it is', () => {
  test.each<[string, TurnBecause]>([
    ['Custom properties 93 % (warning from 95 %)', near({})],
    [
      'Invoices (2-7): custom properties 93 % (critical until below 92 %)',
      near({ series: 'type/2-7', level: 'critical', move: 'leave', of: 92 }),
    ],
    ['Custom properties, 930 of 1,000 (warning from 50 left)', near({ asks: 'remaining', of: 50 })],
    [
      'Custom properties, 930 of 1,000 (warning until more than 80 are left)',
      near({ asks: 'remaining', move: 'leave', of: 80 }),
    ],
    ['Custom properties, 930 (warning from 950)', near({ limit: null, asks: 'count', of: 950 })],
    ['Companies per contact 93 % (warning from 95 %)', near({ series: 'fullest/0-1/0-2' })],
    [
      '12 contacts have the maximum of companies (warning until below 12)',
      near({ series: 'at/0-1/0-2', usage: 12, limit: null, asks: 'count', move: 'leave', of: 12 }),
    ],
    ['regular schedule', { is: 'still' }],
  ])('%s', (sentence, because) => {
    expect(told(because)).toBe(sentence)
  })

  test('is not told where nothing is known', () => {
    expect(pollBecause(null)).toBeUndefined()
  })

  test('is one line without controls, whatever strangers call their things', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const labels = new Map([[`type/${text}`, { label: text }]])
        const turn = {
          regularAt: AT,

          because: near({ series: `type/${encodeURIComponent(text.toWellFormed())}` }),
        }
        for (const known of [labels, LABELS]) expect(pollBecause(turn, known)).not.toMatch(/[\p{Cc}\u202e]/u)
        const unknown = near({ series: text })
        expect(pollBecause({ ...turn, because: unknown }, labels)).not.toMatch(/[\p{Cc}\u202e]/u)
      }),
    )
  })
})
