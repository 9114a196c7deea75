import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cleanText } from '../../src/text/clean-text.ts'

describe('text of strangers', () => {
  test.each([
    ['newlines and tabs become one space', 'a\r\n\t b\u2028c', 'a b c'],
    ['control characters go', 'a\u0000b\u001b[31mc\u007f', 'a b [31mc'],
    ['characters that reorder text go', 'a\u202egnp.exe\u202c\u2066x\u2069\u200f', 'agnp.exex'],
    ['characters of no width go', 'a\u200bb\ufeffc\u00ad', 'abc'],
    ['accents are stacked so high and no higher', `z${'\u0301'.repeat(400)}y`, `z${'\u0301'.repeat(5)}y`],
    ['accents of real words stay', 'Việt ệ́ שָׁלוֹם ক্ষ\u200d', 'Việt ệ́ שָׁלוֹם ক্ষ\u200d'],
    ['emoji stay whole', '👩‍🚀 🏴󠁧󠁢󠁥󠁮󠁧󠁿 ❤️', '👩‍🚀 🏴󠁧󠁢󠁥󠁮󠁧󠁿 ❤️'],
    ['right-to-left scripts stay', 'שלום عليكم', 'שלום عليكم'],
    ['half a surrogate pair becomes a replacement character', 'a\ud800b', 'a\ufffdb'],
    ['markup is left to whoever shows it', '<script>', '<script>'],
    ['nothing but blanks is nothing', ' \n ', ''],
  ])('%s', (_name, text, expected) => {
    expect(cleanText(text)).toBe(expected)
  })

  test('is shortened to the length asked for, with a mark', () => {
    expect(cleanText('x'.repeat(120))).toBe('x'.repeat(120))
    expect(cleanText('x'.repeat(10_000))).toBe(`${'x'.repeat(119)}…`)
    expect(cleanText('abcdef', 4)).toBe('abc…')
  })

  test('is never cut through the middle of an emoji', () => {
    expect(cleanText('ab👩‍🚀c', 6)).toBe('ab👩‍🚀c')
    expect(cleanText('ab👩‍🚀c', 5)).toBe('ab…')
    expect(cleanText('👍🏽'.repeat(200), 11)).toBe(`${'👍🏽'.repeat(5)}…`)
  })

  test('is one short line without controls, whatever it was, and cleaning it again changes nothing', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (text) => {
        const clean = cleanText(text)
        expect(Array.from(clean).length).toBeLessThanOrEqual(120)
        expect(clean).not.toMatch(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069\u061c\u200e\u200f]/u)
        expect(clean.isWellFormed()).toBe(true)
        expect(cleanText(clean)).toBe(clean)
      }),
    )
  })
})
