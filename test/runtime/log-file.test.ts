import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { LogFile } from '../../src/runtime/log-file.ts'
import { createLogger } from '../../src/runtime/logger.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'plimsoll-log-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const complaints: string[] = []
const now = () => Date.parse('2026-11-21T10:00:00Z')
const open = (path: string) => new LogFile(path, now, (text) => complaints.push(text))
const linesOf = (path: string) => readFileSync(path, 'utf8').trimEnd().split('\n')

test('lines are appended to what is there, and others of the machine may not read them', () => {
  const path = join(folder, 'a.log')
  writeFileSync(path, 'before\n', { mode: 0o640 })
  const file = open(path)
  createLogger({ level: 'info', pretty: false }, file).info({ code: 'daemon.started' }, 'started')
  expect(linesOf(path)).toEqual(['before', expect.stringContaining('"code":"daemon.started"')])
  open(join(folder, 'b.log'))
  expect(statSync(join(folder, 'b.log')).mode & 0o007).toBe(0)
})

test('a file that is moved away is written to until it is opened anew; no line is lost', () => {
  const path = join(folder, 'a.log')
  const file = open(path)
  file.write('1\n')
  renameSync(path, `${path}.1`)
  file.write('2\n')
  expect(existsSync(path)).toBe(false)
  file.reopen()
  file.write('3\n')
  expect([linesOf(`${path}.1`), linesOf(path)]).toEqual([['1', '2'], ['3']])
})

test('a file that is emptied in its place is begun anew, without a hole', () => {
  const path = join(folder, 'a.log')
  const file = open(path)
  file.write('1\n')
  truncateSync(path)
  file.write('2\n')
  expect(readFileSync(path, 'utf8')).toBe('2\n')
})

test('where the file can not be opened anew the old one goes on', () => {
  const path = join(folder, 'gone', 'a.log')
  expect(() => open(path)).toThrow('ENOENT')
  const other = join(folder, 'a.log')
  const file = open(other)
  renameSync(folder, `${folder}.away`)
  expect(() => file.reopen()).toThrow('ENOENT')
  file.write('1\n')
  renameSync(`${folder}.away`, folder)
  expect(linesOf(other)).toEqual(['1'])
})

test.skipIf(!existsSync('/dev/full'))(
  'a full disk is told once, throws nothing, and how many lines it cost is said afterwards',
  () => {
    const path = join(folder, 'a.log')
    const link = join(folder, 'link')
    appendFileSync(path, '')
    const { symlinkSync } = process.getBuiltinModule('node:fs')
    symlinkSync('/dev/full', link)
    complaints.length = 0
    const file = open(link)
    file.write('1\n')
    file.write('2\n')
    expect(complaints).toEqual([expect.stringMatching(/lines are lost.*ENOSPC/)])
    rmSync(link)
    symlinkSync(path, link)
    file.reopen()
    file.write('3\n')
    expect(linesOf(path)).toEqual([expect.stringContaining('"code":"log.lost","lines":2'), '3'])
  },
)
