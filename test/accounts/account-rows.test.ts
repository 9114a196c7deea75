import { describe, expect, test } from 'vitest'
import { type ReadLine, readRows } from '../../src/accounts/account-rows.ts'

const TOKEN = 'na1-6f18f21e-a743-4509-b7fd-1a5e632fffa1'

/** Reads a text that comes in pieces of `size` bytes. */
async function rows(text: string, name = 'fleet.csv', size = 7): Promise<ReadLine[]> {
  const bytes = Buffer.from(text)
  async function* pieces() {
    for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size)
  }
  const all: ReadLine[] = []
  for await (const row of readRows(pieces(), name)) all.push(row)
  return all
}

const problems = async (text: string, name?: string) =>
  (await rows(text, name)).flatMap((read) => ('problem' in read ? [[read.line, read.problem]] : []))

const good = (hubId: number, token: string) => ({
  row: expect.objectContaining({ hubId, token: { is: 'clear', value: expect.toSatisfy((v) => v.reveal() === token) } }),
})

describe('a file of accounts', () => {
  test('is CSV with a header, however its lines end and whatever it begins with', async () => {
    const text = `\uFEFFhubId,hubDomain,refreshToken\r\n1,acmé.example.com,${TOKEN}\r\n\r\n"2", ,"b"`
    const [one, two] = await rows(text)
    expect(one).toMatchObject({ line: 2, ...good(1, TOKEN) })
    expect(one).toMatchObject({ row: { hubDomain: 'acmé.example.com', user: '', connectedAt: null } })
    expect(two).toMatchObject({ line: 4, ...good(2, 'b') })
  })

  test('is JSON lines by its name or its content', async () => {
    const text = '{"hubId":1,"refreshToken":"a","hubDomain":null}\n{"refreshToken":"b","hubId":"2"}\n'
    for (const name of ['fleet.jsonl', 'fleet.ndjson', 'fleet.json', 'fleet.csv', 'fleet']) {
      expect(await rows(text, name)).toMatchObject([
        { line: 1, ...good(1, 'a') },
        { line: 2, ...good(2, 'b') },
      ])
    }
  })

  test('takes along what an export has: when it was connected, by whom, the sealed token', async () => {
    const text =
      'hubId,hubDomain,state,user,connectedAt,sealedRefreshToken\n' +
      '1,a.example.com,failing,"Ada ""A"", Lovelace",2026-01-02T03:04:05.678Z,AQI=\n'
    expect(await rows(text)).toEqual([
      {
        line: 2,
        row: {
          hubId: 1,
          token: { is: 'sealed', value: Buffer.from([1, 2]) },
          hubDomain: 'a.example.com',
          user: 'Ada "A", Lovelace',
          connectedAt: Date.parse('2026-01-02T03:04:05.678Z'),
        },
      },
    ])
  })

  test.each([
    ['', 'it is empty'],
    ['\n \n', 'it is empty'],
    ['hubId,refreshToken,color\n', 'the column color, which is not known'],
    ['hubId|refreshToken\n', 'the column number 1, which is not known'],
    ['hubId;refreshToken\n', 'it has a header and no accounts'],
    ['sep=;\n\nhubId;refreshToken\n;\n', 'it has a header and no accounts'],
    ['sep=;\n', 'it is empty'],
    [`1,${TOKEN}\n`, 'its first line is no header'],
    [`${TOKEN},1\n`, 'the column number 1, which is not known'],
    ['refreshToken\n', 'no column hubId'],
    ['hubId,hubId,refreshToken\n', 'a column twice'],
    ['hubId,hubDomain\n', 'one of the columns refreshToken and sealedRefreshToken'],
    ['hubId,refreshToken,sealedRefreshToken\n', 'one of the columns refreshToken and sealedRefreshToken'],
    ['hubId,"refreshToken\n', 'no CSV header'],
    ['x'.repeat(30_000), 'too long'],
  ])('as a whole is refused: %j', async (text, why) => {
    await expect(rows(text)).rejects.toThrow(why)
    await expect(rows(text)).rejects.not.toThrow(TOKEN)
  })

  test('that is one JSON list is refused', async () => {
    await expect(rows('[\n{"hubId":1}\n]', 'fleet.json')).rejects.toThrow('one object a line')
  })
})

describe('a bad line', () => {
  test.each([
    ['x,a', 'has a hubId that is no whole number'],
    ['-1,a', 'has a hubId that is no whole number'],
    ['0,a', 'has a hubId that is no whole number'],
    ['1.5,a', 'has a hubId that is no whole number'],
    ['9007199254740993,a', 'has a hubId that is no whole number'],
    [',a', 'has no hubId'],
    ['1,', 'has no refresh token'],
    [`1,${TOKEN} ${TOKEN}`, 'has a refresh token with a space in it'],
    ['1,tökén', 'has a refresh token with characters that no token has'],
    [`1,C${'a/+-_'.repeat(60)}==`, 'has an access token where the refresh token should be'],
    ['1,pat-na1-6f18f21e', 'has an access token where the refresh token should be'],
    ['1', 'has 1 columns where the header has 2'],
    [`1,${TOKEN},x`, 'has 3 columns where the header has 2'],
    [`1,"${TOKEN}`, 'is malformed CSV: a quote is in the wrong place or is not closed'],
    [`1,"${TOKEN}"x`, 'is malformed CSV: a quote is in the wrong place or is not closed'],
    [`1,${'x'.repeat(50_000)}`, 'is too long'],
  ])(
    'of CSV (%#) is named with its number in the file, never with its token; the next line is read',
    async (line, why) => {
      const read = await rows(`hubId,refreshToken\n\n7,good\n${line}\n8,good\n`)
      expect(read).toMatchObject([good(7, 'good'), { line: 4, problem: why }, { line: 5, ...good(8, 'good') }])
    },
  )

  test.each([
    ['{"hubId":1', 'is malformed JSON'],
    ['[1]', 'is no JSON object'],
    ['{"hubId":1,"refreshToken":{}}', 'has a refreshToken that is no text'],
    ['{"hubId":1,"refreshToken":"a","color":"red"}', /^has a field color that is not known/],
    [`{"hubId":1,"${TOKEN}":"a"}`, /^has a field {2}that is not known/],
    ['{"hubId":1,"refreshToken":"a","sealedRefreshToken":"AA=="}', /give one/],
    ['{"hubId":1,"sealedRefreshToken":"no base64!"}', 'has a sealedRefreshToken that is no base64'],
    ['{"hubId":1,"refreshToken":"a","hubDomain":"a b"}', 'has a hubDomain that is no domain'],
    ['{"hubId":1,"refreshToken":"a","user":"a\\u0000"}', /^has a user/],
    ['{"hubId":1,"refreshToken":"a","connectedAt":"yesterday"}', /^has a connectedAt/],
  ])('of JSON lines: %s', async (line, why) => {
    const found = await problems(`{"hubId":7,"refreshToken":"a"}\n${line}\n`, 'fleet.jsonl')
    expect(found).toEqual([[2, typeof why === 'string' ? why : expect.stringMatching(why)]])
  })
})
