import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { run } from '../support/command.ts'
import { type Daemon, startDaemon, writeDaemonConfig } from '../support/daemon.ts'
import { freePort } from '../support/fleet.ts'
import { MAIN } from '../support/main.ts'
import { isOnPath } from '../support/programs.ts'

const NOBODY = 65_534

let folder: string
let data: string
let file: string
let daemon: Daemon | undefined
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'plimsoll-data-'))
  data = join(folder, 'data')
  // Nothing of the far side is asked in these tests.
  const far = { sandboxUrl: 'http://127.0.0.1:1', smtpUrl: 'smtp://127.0.0.1:1' }
  file = writeDaemonConfig(folder, { ...far, port: await freePort() })
})
afterEach(async () => {
  await daemon?.stop()
  daemon = undefined
  rmSync(folder, { recursive: true, force: true })
})

const modeOf = (path: string) => statSync(path).mode & 0o777

function openToAll(path: string): void {
  mkdirSync(path)
  chmodSync(path, 0o777)
}

test('a data folder that others may look into, with all in it, is closed to them by the start', async () => {
  for (const path of [data, join(data, 'keys'), join(data, 'redis')]) openToAll(path)
  daemon = await startDaemon(file)
  for (const path of [data, join(data, 'keys'), join(data, 'redis')]) expect(modeOf(path), path).toBe(0o700)
})

test('nobody else may read what the private Redis writes, whatever the umask', async () => {
  const umask = process.umask(0o000)
  daemon = await startDaemon(file).finally(() => process.umask(umask))
  const files = readdirSync(join(data, 'redis'), { recursive: true }).map((name) => join(data, 'redis', String(name)))
  expect(files.some((path) => path.endsWith('.aof'))).toBe(true)
  // A lock comes and goes.
  const open = files.filter((path) => existsSync(path) && (modeOf(path) & 0o077) !== 0)
  expect(open).toEqual([])
})

test('one that holds other things too is left as it is, and the start refused', async () => {
  openToAll(data)
  writeFileSync(join(data, 'index.html'), '')
  const { code, err } = await run(process.execPath, [MAIN, 'start', '--config', file], folder)
  expect(code).toBe(1)
  expect(err).toBe(
    `plimsoll: ${data} is open to other users of this machine (mode 777) and was not closed: it also holds index.html; ` +
      `run chmod 700 ${data}, or set dataDir to a folder of Plimsoll's own\n`,
  )
  expect(modeOf(data)).toBe(0o777)
  expect(readdirSync(data)).toEqual(['index.html'])
})

test.skipIf(process.getuid?.() !== 0 || !isOnPath('setpriv'))(
  'one that belongs to somebody else is refused (left out where tests do not run as root)',
  async () => {
    openToAll(data)
    for (const path of [folder, file]) chownSync(path, NOBODY, NOBODY)
    const as = [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups']
    const { code, err } = await run('setpriv', [...as, process.execPath, MAIN, 'start', '--config', file], folder)
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining(`${data} is open to other users`) })
    expect(err).toContain('was not closed: EPERM; run chmod 700')
    expect(readdirSync(data)).toEqual([])
  },
)
