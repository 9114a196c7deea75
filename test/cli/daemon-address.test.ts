import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { dataFolderIn } from '../../src/cli/daemon-address.ts'
import { folderOfFile } from '../support/of-file.ts'

const folder = folderOfFile()
const file = join(folder, 'plimsoll.yaml')

test.each([
  ['', '.plimsoll'],
  ['# dataDir: elsewhere\n', '.plimsoll'],
  ['dataDir: data # beside it\n', 'data'],
  ['limits: { every: 1h }\ndataDir: "my data"\n', 'my data'],
  ["dataDir: '/var/lib/plimsoll'\n", '/var/lib/plimsoll'],
])('of the config %j the data folder is %s', (text, expected) => {
  writeFileSync(file, text)
  expect(dataFolderIn(file)).toBe(expected.startsWith('/') ? expected : join(folder, expected))
})

test.each(['{"dataDir":"data"}', '# ours\n{ dataDir: data }', 'dataDir: ${DATA}\n', 'dataDir: >\n  data\n'])(
  'of %j a parser must find it',
  (text) => {
    writeFileSync(file, text)
    expect(dataFolderIn(file)).toBeUndefined()
  },
)
