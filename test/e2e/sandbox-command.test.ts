import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { getJson } from '../support/fleet.ts'

const MAIN = new URL('../../src/main.ts', import.meta.url).pathname

test('the sandbox runs by itself until it is told to stop', async () => {
  const args = [MAIN, 'sandbox', '--port', '0', '--smtp-port', '0', '--accounts', '3', '--token-lifetime', '20s']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  const [url = ''] = line.match(/http:\S+/) ?? []
  expect(await getJson<unknown[]>(`${url}/sandbox/accounts`)).toHaveLength(3)
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([0, null])
})
