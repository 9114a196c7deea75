import { expect, test } from 'vitest'
import { connectAccount, eventually, getJson, hubIdsOf, send } from '../support/fleet.ts'
import { sceneFor } from '../support/scene.ts'

test('an install whose metadata fails survives kill -9 of the daemon, and is finished by the next one', async (context) => {
  const scene = await sceneFor(context, { accounts: 1 })
  const [hubId = 0] = await hubIdsOf(scene.sandbox.url)
  const daemon = await scene.daemon()
  await send(`${scene.sandbox.url}/sandbox/faults`, 'POST', { endpoint: 'metadata', status: 404 })
  const answer = await connectAccount(daemon.url, hubId)
  const page = await answer.text()
  await daemon.kill()
  expect([answer.status, page]).toEqual([202, expect.stringContaining('Connected, being set up')])
  expect(daemon.lines.join('\n')).toMatch(/"install.parked".*the provider answered 404/)

  await send(`${scene.sandbox.url}/sandbox/faults`, 'DELETE')
  const next = await scene.daemon()
  const account = await eventually(
    'the account',
    async () =>
      getJson<{ state: string; polledAt: string | null }>(`${next.url}/api/v1/accounts/${hubId}`).catch(
        () => false as const,
      ),
    90_000,
  )
  expect(account).toMatchObject({ state: 'active' })
})
