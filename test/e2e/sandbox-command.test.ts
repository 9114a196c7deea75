import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { plimsollHere } from '../support/command.ts'
import { freePort, getJson } from '../support/fleet.ts'
import { MAIN } from '../support/main.ts'

test('the sandbox runs by itself until it is told to stop', async () => {
  const args = [MAIN, 'sandbox', '--port', '0', '--smtp-port', '0', '--accounts', '3', '--token-lifetime', '20s']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  const [url = ''] = line.match(/http:\S+/) ?? []
  expect(await getJson<unknown[]>(`${url}/sandbox/accounts`)).toHaveLength(3)
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([0, null])
})

test('a port that somebody else has is said to be in use, with the way out', async () => {
  const [taken, free] = [createServer(), await freePort()]
  await once(taken.listen(0, '127.0.0.1'), 'listening')
  const { port } = taken.address() as AddressInfo
  const folder = tmpdir()
  for (const ports of [
    ['--port', String(port), '--smtp-port', '0'],
    ['--port', String(free), '--smtp-port', String(port)],
  ]) {
    const ran = await plimsollHere(['sandbox', ...ports], folder)
    expect(ran).toMatchObject({ code: 1, out: '' })
    expect(ran.err).toMatch(new RegExp(`^plimsoll: 127\\.0\\.0\\.1:${port} is in use, .*--smtp-port.*\\n$`))
  }
  taken.close()
})
