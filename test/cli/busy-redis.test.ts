import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { plimsollHere } from '../support/command.ts'
import { writeDaemonConfig } from '../support/daemon.ts'
import { serverOfFile } from '../support/of-file.ts'

const redis = serverOfFile()
let folder: string
let config: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'plimsoll-busy-'))
  const far = { sandboxUrl: 'http://127.0.0.1:1', smtpUrl: 'smtp://127.0.0.1:1', port: 1 }
  config = writeDaemonConfig(folder, { ...far, redisUrl: redis.url })
  writeFileSync(join(folder, 'fleet.csv'), 'hubId,refreshToken\n7,a-refresh-token\n')
  await command('accounts', 'import', join(folder, 'fleet.csv'))
  return () => rmSync(folder, { recursive: true, force: true })
})

const command = (...args: string[]) => plimsollHere([...args, '--config', config], folder)
const pause = (ms: number) => redis.connect('pages').client('PAUSE', ms, 'ALL')

test('a command waits for a Redis that is busy', async () => {
  await pause(2_600)
  expect(await command('accounts', 'list', '--json')).toMatchObject({ code: 0, err: '' })
})

// The last one: nothing ends the pause but the end of the server.
test('where that takes longer than --timeout, the error names what was waited for', async () => {
  await pause(600_000)
  expect(await command('accounts', 'list', '--timeout', '300ms')).toEqual({
    code: 1,
    out: '',
    err: expect.stringMatching(/^plimsoll: Redis did not answer \w+ within 0.3 s: it is busy, or hangs\. --timeout 1m/),
  })
  const { out } = await command('doctor', '--json', '--timeout', '300ms')
  expect(JSON.parse(out)).toContainEqual(
    expect.objectContaining({ name: 'redis', detail: expect.stringMatching(/Redis did not answer \w+ within 0.3 s/) }),
  )
})
