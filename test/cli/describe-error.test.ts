import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { describeError } from '../../src/cli/io.ts'
import { openDataFolder } from '../../src/runtime/data-folder.ts'
import { mountSmallDisk } from '../support/servers-on.ts'

const failed = (code: string, more: object) => Object.assign(new Error(`${code}: words, open 'x'`), { code, ...more })

test.each([
  ['EROFS', '/data/keys', "/data/keys can't be written: its file system is read-only. Mount it writable"],
  ['EACCES', '/data/keys', 'this user may not use /data/keys: change its owner or mode'],
  ['ENOSPC', undefined, "a file can't be written: its disk is full. Make room"],
])('%s of the file system is told in plain words, with the way out', (code, path, said) => {
  expect(describeError(failed(code, path === undefined ? {} : { path }))).toContain(said)
  expect(describeError(new Error('outer', { cause: failed(code, { path: '/x' }) }))).toContain('/x')
})

test('a port that this user may not take is not called a file', () => {
  const error = failed('EACCES', { address: '0.0.0.0', port: 80 })
  expect(describeError(error)).toBe(error.message)
})

test('a data folder on a read-only file system is told so', ({ skip, onTestFinished }) => {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-read-only-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const unmount = mountSmallDisk(folder, '1m')
  if (typeof unmount === 'string') return skip(unmount)
  onTestFinished(unmount)
  mkdirSync(join(folder, 'data'), { mode: 0o700 })
  execFileSync('mount', ['-o', 'remount,ro', folder])
  let thrown: unknown
  try {
    openDataFolder(join(folder, 'data'), 'keys')
  } catch (error) {
    thrown = error
  }
  expect(describeError(thrown)).toContain(
    `${join(folder, 'data', 'keys')} can't be written: its file system is read-only`,
  )
})
