import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { commandsOfFile } from './commands-of-file.ts'

const installed = commandsOfFile()

const importOf = (name: string, content: string | Buffer) => {
  writeFileSync(join(installed.folder, name), content)
  return installed.run('accounts', 'import', name)
}
const hubIds = async () => {
  const { out } = await installed.run('accounts', 'list', '--json')
  return (JSON.parse(out) as { hubId: number }[]).map(({ hubId }) => hubId)
}
const done = (imported: number) => ({ code: 0, out: `imported ${imported}, kept 0, replaced 0, bad 0\n`, err: '' })

test('a file is imported whole as spreadsheets save it', async () => {
  const mixedEnds = 'hubId,refreshToken\n101,a\r102,b\r\n103,c\n'
  const german = 'sep=;\r\nhubId;refreshToken;user\r\n104;d;"Ada\nLovelace"\r\n;;\r\n105,0;e;\r\n'
  const unicodeText = Buffer.from('\uFEFFhubId\trefreshToken\r\n106\tf\r\n107\tg\r\n', 'utf16le')
  expect(await importOf('mixed.csv', mixedEnds)).toEqual(done(3))
  expect(await importOf('german.csv', german)).toEqual(done(2))
  expect(await importOf('unicode.txt', unicodeText)).toEqual(done(2))
  expect((await hubIds()).sort()).toEqual([101, 102, 103, 104, 105, 106, 107])
})

test('a number that a spreadsheet rounded is named, with what helps', async () => {
  expect(await importOf('rounded.csv', 'hubId;refreshToken\n1,23E+08;h\n')).toEqual({
    code: 1,
    out: 'imported 0, kept 0, replaced 0, bad 1\n',
    err: expect.stringMatching(
      /^line 2 has a hubId that a spreadsheet rounded: give that column the format "text".*\nplimsoll: rounded.csv has 1 bad line; the others are in\n$/,
    ),
  })
})

test('a file from which nothing comes has failed', async () => {
  for (const [content, why] of [
    ['hubId,refreshToken\n', 'it has a header and no accounts'],
    ['hubId,refreshToken\r,\r\r', 'it has a header and no accounts'],
    ['', 'it is empty'],
  ] as const) {
    expect(await importOf('none.csv', content)).toEqual({
      code: 1,
      out: '',
      err: `plimsoll: none.csv can't be imported: ${why}\n`,
    })
  }
})
