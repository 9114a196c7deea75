import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openTokenFile } from '../../src/http/access/admin-tokens.ts'
import { openDataFolder, replaceSecretFile } from '../../src/runtime/data-folder.ts'
import { ownKey } from '../../src/tokens/vault-keys.ts'

test('a secret file is replaced as a whole: with a mode of its own, and never through a link', () => {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-secret-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [open, elsewhere, link] = ['open', 'elsewhere', 'link'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  for (const file of [open, elsewhere]) writeFileSync(file, 'old')
  chmodSync(open, 0o644)
  symlinkSync(elsewhere, link)
  for (const file of [open, link]) {
    replaceSecretFile(file, 'new')
    expect([readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).toEqual(['new', 0o600])
  }
  expect(readFileSync(elsewhere, 'utf8')).toBe('old')
  expect(readdirSync(folder).sort()).toEqual(['elsewhere', 'link', 'open'])
})

describe('what somebody else could have put there', () => {
  const NOBODY = 65_534
  /** Each is read, or written to, by a start. */
  const PARTS: [what: string, open: (dataDir: string) => unknown, path: (dataDir: string) => string][] = [
    ['the data folder', (dataDir) => openDataFolder(dataDir), (dataDir) => dataDir],
    ...(['keys', 'redis', 'answers'] as const).map((name): (typeof PARTS)[number] => [
      `the folder ${name}`,
      (dataDir) => openDataFolder(dataDir, name),
      (dataDir) => join(dataDir, name),
    ]),
    ['the key', ownKey, (dataDir) => join(dataDir, 'keys', 'k1')],
    ['the admin token', openTokenFile, (dataDir) => join(dataDir, 'admin-token')],
  ]

  function made(open: (dataDir: string) => unknown): string {
    const folder = mkdtempSync(join(tmpdir(), 'plimsoll-owner-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const dataDir = join(folder, 'data')
    open(dataDir)
    return dataDir
  }

  test.skipIf(process.geteuid?.() !== 0).each(PARTS)(
    '%s of another user is refused (left out where tests do not run as root)',
    (_, open, pathIn) => {
      const dataDir = made(open)
      const path = pathIn(dataDir)
      chownSync(path, NOBODY, NOBODY)
      expect(() => open(dataDir)).toThrow(
        `${path} belongs to another user of this machine (user id ${NOBODY}): run plimsoll as that user, or hand it over with chown -R 0 ${path}`,
      )
    },
  )

  test.each(PARTS.slice(1))('%s is no link', (_, open, pathIn) => {
    const dataDir = made(open)
    const path = pathIn(dataDir)
    renameSync(path, `${dataDir}-elsewhere`)
    symlinkSync(`${dataDir}-elsewhere`, path)
    onTestFinished(() => rmSync(`${dataDir}-elsewhere`, { recursive: true, force: true }))
    expect(() => open(dataDir)).toThrow(`${path} is a link: put the `)
  })

  test('the data folder may be a link of the operator', () => {
    const dataDir = made(ownKey)
    const { key } = ownKey(dataDir)
    renameSync(dataDir, `${dataDir}-elsewhere`)
    symlinkSync(`${dataDir}-elsewhere`, dataDir)
    expect(ownKey(dataDir).key).toEqual(key)
    mkdirSync(`${dataDir}-elsewhere/other`)
    expect(openDataFolder(dataDir)).toBe(dataDir)
  })
})
