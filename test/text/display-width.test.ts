import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cutToWidth, displayWidth, headWithin, wrapToWidth } from '../../src/text/display-width.ts'

describe('the width of text on a terminal', () => {
  test.each([
    ['', 0],
    ['acme.example.com', 16],
    ['Zażółć', 6],
    ['Zaz\u0307o\u0301\u0142c\u0301', 6],
    ['顧客', 4],
    ['カスタム', 8],
    ['ｶｽﾀﾑ', 4],
    ['고객', 4],
    ['\u1112\u1161\u11ab', 2],
    ['🚢', 2],
    ['👩‍🔧', 2],
    ['🇵🇱', 2],
    ['❤️', 2],
    ['❤', 1],
    ['👍🏽', 2],
    ['1️⃣', 2],
    ['→ … — “x”', 9],
    ['नमस्ते', 4],
    ['ไทย', 3],
    ['ＡＢ', 4],
  ])('of %j is %i', (text, width) => {
    expect(displayWidth(text)).toBe(width)
  })
})

const LETTERS = [...'abc .-/'.split(''), '顧', '客', 'ｶ', '🚢', '👩‍🔧', 'e\u0301', '🇵🇱', '고', '\u200d', 'ส้', '…']
const words = fc.array(fc.constantFrom(...LETTERS), { maxLength: 60 }).map((letters) => letters.join(''))
const rooms = fc.integer({ min: 2, max: 50 })

describe('whatever the text and the room', () => {
  test('what is cut fits, keeps its beginning, and says that it is cut', () => {
    fc.assert(
      fc.property(words, rooms, (text, room) => {
        const cut = cutToWidth(text, room)
        expect(displayWidth(cut)).toBeLessThanOrEqual(room)
        expect(cut === text).toBe(displayWidth(text) <= room)
        if (cut !== text) expect(cut).toContain('…')
        expect(text.startsWith(headWithin(text, room))).toBe(true)
      }),
    )
  })

  test('what is wrapped fits line by line and loses nothing but the spaces where it is broken', () => {
    fc.assert(
      fc.property(words, rooms, (text, room) => {
        const lines = wrapToWidth(text, room)
        for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(room)
        expect(lines.join('').replaceAll(' ', '')).toBe(text.replaceAll(' ', ''))
      }),
    )
  })
})
