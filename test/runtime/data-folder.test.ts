import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { replaceSecretFile } from '../../src/runtime/data-folder.ts'

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
