import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { openTokenFile } from '../../src/http/access/admin-tokens.ts'

let dataDir: string
let file: string
beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-token-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  dataDir = join(folder, 'data')
  file = join(dataDir, 'admin-token')
})

test('is made once, for this user alone, and read again at later starts', () => {
  const first = openTokenFile(dataDir)
  expect(first).toMatchObject({ path: file, made: true, wasOpen: false })
  expect(first.token.reveal()).toMatch(/^plm_[\w-]{43}$/)
  expect(readFileSync(file, 'utf8')).toBe(`${first.token.reveal()}\n`)
  expect([statSync(file).mode & 0o777, statSync(dataDir).mode & 0o777]).toEqual([0o600, 0o700])
  const again = openTokenFile(dataDir)
  expect([again.made, again.token.reveal()]).toEqual([false, first.token.reveal()])
  expect(readdirSync(dataDir)).toEqual(['admin-token'])
})

test('one that others may read is closed to them, and that is told', () => {
  openTokenFile(dataDir)
  chmodSync(file, 0o644)
  expect(openTokenFile(dataDir).wasOpen).toBe(true)
  expect(statSync(file).mode & 0o777).toBe(0o600)
})

test.each(['', '\n', 'fifteen-letters', 'two words that are long enough'])(
  '%j is no token: it says what to do',
  (text) => {
    openTokenFile(dataDir)
    writeFileSync(file, text)
    expect(() => openTokenFile(dataDir)).toThrow(
      `${file} must hold one token of at least 16 characters: remove it, and the next start makes a new one`,
    )
  },
)
