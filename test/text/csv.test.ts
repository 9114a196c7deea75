import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cleanText } from '../../src/text/clean-text.ts'
import { cellAsWritten, csvLine } from '../../src/text/csv.ts'

test.each([
  ['numbers and nothing', [1, -2.5, null, ''], '1,-2.5,,'],
  ['what would break the line', ['a,b', 'say "no"', 'a\r\nb', 'a;b'], '"a,b","say ""no""",a b,"a;b"'],
  ['formulas', ['=1+1', '+1', '-1', '@x', '＝1', ' =1'], "'=1+1,'+1,'-1,'@x,'＝1,'=1"],
  ['formulas behind an apostrophe', ["'=1", "''-1", "'a"], "''=1,'''-1,'a"],
  ['formulas where a semicolon begins a cell', ['a;=1', 'a; "=1'], `"a;'=1","a; ""'=1"`],
])('a line of CSV has %s as they are read back', (_name, cells, expected) => {
  expect(csvLine(cells)).toBe(`${expected}\n`)
})

test('is one line with all cells, whatever they hold', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary' }), { minLength: 2, maxLength: 5 }), (cells) => {
      const [read = [], ...more]: string[][] = parse(csvLine(cells))
      expect(more).toEqual([])
      expect(read.map(cellAsWritten)).toEqual(cells.map((cell) => cleanText(cell, 500)))
    }),
  )
})
