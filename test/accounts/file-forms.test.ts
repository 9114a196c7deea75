import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type ReadLine, readRows } from '../../src/accounts/account-rows.ts'

async function read(bytes: Buffer, size = 5): Promise<ReadLine[]> {
  async function* pieces() {
    for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size)
  }
  const all: ReadLine[] = []
  for await (const row of readRows(pieces(), 'fleet.csv')) all.push(row)
  return all
}

type Read = [hubId: number, token: string, user: string] | string

const briefly = (rows: readonly ReadLine[]): Read[] =>
  rows.map((one) =>
    'problem' in one
      ? `line ${one.line} ${one.problem}`
      : [one.row.hubId, one.row.token.is === 'clear' ? one.row.token.value.reveal() : '', one.row.user],
  )

const utf16 = (text: string) => Buffer.from(text, 'utf16le')
const ENCODINGS: Record<string, (text: string) => Buffer> = {
  'UTF-8': (text) => Buffer.from(text),
  'UTF-8 with a mark': (text) => Buffer.from(`\uFEFF${text}`),
  'UTF-16LE': utf16,
  'UTF-16LE with a mark': (text) => utf16(`\uFEFF${text}`),
  'UTF-16BE': (text) => utf16(text).swap16(),
  'UTF-16BE with a mark': (text) => utf16(`\uFEFF${text}`).swap16(),
}

const form = fc.record({
  encoding: fc.constantFrom(...Object.keys(ENCODINGS)),
  separator: fc.constantFrom(',', ';', '\t'),
  isNamed: fc.boolean(),
  end: fc.constantFrom('\n', '\r\n', '\r'),
  lastEnds: fc.boolean(),
  allQuoted: fc.boolean(),
  /** Columns that a sheet adds at the end of each row, without a cell in them. */
  more: fc.nat(2),
  size: fc.integer({ min: 1, max: 40 }),
})
const word = fc.stringMatching(/^[A-Za-zäéЖ漢"',;|-]{1,8}$/)
const row = fc.record({
  hubId: fc.integer({ min: 1, max: 2 ** 40 }),
  token: fc.stringMatching(/^[a-z0-9-]{1,40}$/),
  user: fc.array(word, { maxLength: 4 }).map((words) => words.join(' ').replace(/(^|;)(["' ]*)(?=[-'])/g, '$1$2x')),
  /** Spaces that are line breaks in the cell. */
  breaks: fc.boolean(),
  emptyAfter: fc.nat(2),
  isBlank: fc.boolean(),
})

test('any table reads back the same in every form that a spreadsheet saves it in', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 6 }), form, async (rows, how) => {
      const { separator, end } = how
      const cell = (text: string) =>
        how.allQuoted || /["\s,;]/.test(text) || text.includes(separator) ? `"${text.replaceAll('"', '""')}"` : text
      const line = (cells: string[]) => [...cells, ...Array<string>(how.more).fill('')].join(separator)
      const lines = [
        ...(how.isNamed ? [`sep=${separator}`] : []),
        line(['hubId', 'user', 'refreshToken'].map(cell)),
        ...rows.flatMap(({ hubId, token, user, breaks, emptyAfter, isBlank }) => [
          line([String(hubId), breaks ? user.replaceAll(' ', end) : user, token].map(cell)),
          ...Array<string>(emptyAfter).fill(isBlank ? '' : line(['', '', ''])),
        ]),
      ]
      const bytes = ENCODINGS[how.encoding]?.(lines.join(end) + (how.lastEnds ? end : ''))
      expect(briefly(await read(bytes ?? Buffer.alloc(0), how.size))).toEqual(
        rows.map(({ hubId, token, user }) => [hubId, token, user]),
      )
    }),
    { numRuns: 500 },
  )
})

test('every line is in a row, empty or named, whatever is wrong with the others', async () => {
  const good = fc.nat(8).map((n) => ({ text: `${n + 1},token,`, reads: [n + 1, 'token', ''] as Read }))
  const bad = fc
    .constantFrom('1,"tok', '"1,tok,', 'x,token,', '1,token', '1,to"k,', '1,token,a,b', '"')
    .map((text) => ({ text }))
  const end = fc.constantFrom('\n', '\r\n', '\r')
  const line = fc.tuple(fc.oneof(good, bad), end)
  await fc.assert(
    fc.asyncProperty(fc.array(line, { minLength: 1, maxLength: 12 }), async (lines) => {
      const text = lines.map(([{ text }, end]) => text + end).join('')
      const wanted = lines.map(([one], n) => ('reads' in one ? one.reads : expect.stringMatching(`^line ${n + 2} `)))
      expect(briefly(await read(Buffer.from(`hubId,refreshToken,user\n${text}`)))).toEqual(wanted)
    }),
    { numRuns: 500 },
  )
})

test.each([
  ['1000024.0', 1_000_024],
  ['1000024,00', 1_000_024],
  ['1.000024E+06', 1_000_024],
  ['1,000024e6', 1_000_024],
])('a hubId that a sheet wrote as %s is exact', async (text, hubId) => {
  expect(briefly(await read(Buffer.from(`hubId;refreshToken\n${text};a\n`)))).toEqual([[hubId, 'a', '']])
})

test.each([
  ['1.23E+08', /^line 2 has a hubId that a spreadsheet rounded: /],
  ['1,23E+08', /^line 2 has a hubId that a spreadsheet rounded: /],
  ['1E9', /^line 2 has a hubId that a spreadsheet rounded: /],
  ['1000024.5', 'line 2 has a hubId that is no whole number'],
  ['1.0000245E+06', 'line 2 has a hubId that is no whole number'],
  ['9007199254740993.0', 'line 2 has a hubId that is no whole number'],
])('a hubId that a sheet wrote as %s is named', async (text, problem) => {
  const [found] = briefly(await read(Buffer.from(`hubId;refreshToken\n${text};a\n`)))
  expect(found).toEqual(typeof problem === 'string' ? problem : expect.stringMatching(problem))
})
