import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { createKeys } from '../../src/redis/keys.ts'
import { plimsollHere } from '../support/command.ts'
import { writeDaemonConfig } from '../support/daemon.ts'
import { HandClock } from '../support/hand-clock.ts'
import { redisOfFile } from '../support/of-file.ts'

type Settings = NonNullable<Parameters<typeof writeDaemonConfig>[1]['settings']>

/** A Redis, a folder with a config and a clock that a file's tests share, and the command line on them; declared at its top. */
export function commandsOfFile(settings: Settings = {}) {
  const redis = redisOfFile()
  const clock = new HandClock()
  const installed = {
    redis,
    clock,
    keys: createKeys('plimsoll'),
    folder: '',
    config: '',
    get store() {
      return redis.store
    },
    /** Another config of the same installation: its file. */
    written: (more: Settings, port = 10) =>
      writeDaemonConfig(installed.folder, {
        sandboxUrl: 'http://127.0.0.1:9',
        smtpUrl: 'smtp://127.0.0.1:9',
        redisUrl: redis.url,
        port,
        settings: { encryption: { keys: [{ id: 'k1', key: Buffer.alloc(32, 7).toString('base64') }] }, ...more },
      }),
    run: (...args: string[]) =>
      plimsollHere([...args, '--config', installed.config], installed.folder, { clock: installed.clock }),
  }
  beforeAll(() => {
    installed.folder = mkdtempSync(join(tmpdir(), 'plimsoll-commands-'))
    installed.config = installed.written(settings, 9)
  })
  afterAll(() => rmSync(installed.folder, { recursive: true, force: true }))
  return installed
}
