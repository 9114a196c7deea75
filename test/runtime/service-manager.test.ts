import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findServiceManager } from '../../src/runtime/service-manager.ts'
import { logLines } from '../support/log-lines.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'plimsoll-service-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Instead of systemd's: notes what it is told, or fails. */
function systemdNotify(script: string): Record<string, string> {
  const file = join(folder, 'systemd-notify')
  writeFileSync(file, `#!/bin/sh\n${script}\n`)
  chmodSync(file, 0o755)
  return { NOTIFY_SOCKET: join(folder, 'notify'), PATH: `${folder}:${process.env.PATH}` }
}

test('without a service manager there is nobody to tell', () => {
  expect(findServiceManager({}, 1, logLines().log)).toBeUndefined()
  expect(findServiceManager({ NOTIFY_SOCKET: '' }, 1, logLines().log)).toBeUndefined()
})

test('words are said one after the other, each on one line, and nothing else of the environment comes along', async () => {
  const env = systemdNotify(`printf '%s|' "$@" >> ${folder}/said; env | grep -c SECRET >> ${folder}/said`)
  const manager = findServiceManager({ ...env, SECRET: 'x' }, 1, logLines().log)
  await Promise.all([manager?.send('READY=1', 'STATUS=a\nREADY=0'), manager?.send('STOPPING=1')])
  expect(readFileSync(join(folder, 'said'), 'utf8')).toBe('READY=1|STATUS=a READY=0|0\nSTOPPING=1|0\n')
})

test('where nobody can carry the words the log says so, once, and nothing else happens', async () => {
  const { log, lines } = logLines()
  const manager = findServiceManager({ NOTIFY_SOCKET: '/nowhere', PATH: folder }, 1, log)
  await manager?.send('READY=1')
  await manager?.send('WATCHDOG=1')
  expect(lines()).toEqual([
    expect.objectContaining({ code: 'systemd.unheard', reason: expect.stringContaining('ENOENT') }),
  ])
})

test('a messenger that fails is told of too', async () => {
  const { log, lines } = logLines()
  await findServiceManager(systemdNotify('exit 3'), 1, log)?.send('READY=1')
  expect(lines()).toEqual([expect.objectContaining({ reason: 'it ended with 3' })])
})

test('a messenger that can not be started at all, or that heeds no signal, is no end of the words after it', async () => {
  const { log, lines } = logLines()
  const env = systemdNotify(
    `case "$1" in HANG) trap "" TERM; while :; do sleep 1; done;; esac; echo "$1" >> ${folder}/said`,
  )
  const manager = findServiceManager(env, 1, log, 1_000)
  await manager?.send('nothing may follow a \0')
  await manager?.send('HANG')
  await manager?.send('READY=1')
  expect(readFileSync(join(folder, 'said'), 'utf8')).toBe('READY=1\n')
  expect(lines()).toEqual([expect.objectContaining({ code: 'systemd.unheard' })])
})

test.each([
  [{ WATCHDOG_USEC: '30000000' }, 30_000],
  [{ WATCHDOG_USEC: '30000000', WATCHDOG_PID: '42' }, 30_000],
  [{ WATCHDOG_USEC: '30000000', WATCHDOG_PID: '43' }, undefined],
  [{ WATCHDOG_USEC: 'soon' }, undefined],
  [{}, undefined],
])('the watchdog of %o waits for %s ms', (env, ms) => {
  expect(findServiceManager({ NOTIFY_SOCKET: '/x', ...env }, 42, logLines().log)?.watchdogMs).toBe(ms)
})
