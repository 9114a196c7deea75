import fc from 'fast-check'
import { expect, test } from 'vitest'
import { contrast, readableOn } from '../../src/text/contrast.ts'

test('black on white has the most contrast, a color on itself the least', () => {
  expect(contrast('#000000', '#ffffff')).toBeCloseTo(21)
  expect(contrast('#777777', '#ffffff')).toBeCloseTo(4.48, 2)
  expect(contrast('#123456', '#123456')).toBe(1)
})

test('a color that is readable stays as it is', () => {
  expect(readableOn('#0b6e4f', '#f5f7f9')).toBe('#0b6e4f')
  expect(readableOn('#ffd400', '#18212a')).toBe('#ffd400')
})

test('a color that is hard to read becomes a shade of it: darker by day, lighter by night', () => {
  expect(readableOn('#ffd400', '#f5f7f9')).toBe('#806a00')
  expect(readableOn('#0b6e4f', '#18212a')).toBe('#509781')
})

test('whatever the color, text in it can be read', () => {
  const color = fc.integer({ min: 0, max: 0xffffff }).map((n) => `#${n.toString(16).padStart(6, '0')}`)
  fc.assert(
    fc.property(color, fc.constantFrom('#f5f7f9', '#ffffff', '#18212a', '#10161d'), (one, background) => {
      const shade = readableOn(one, background)
      expect(shade).toMatch(/^#[0-9a-f]{6}$/)
      expect(contrast(shade, background)).toBeGreaterThanOrEqual(4.5)
    }),
  )
})
