import { expect, test } from 'vitest'
import { connectAll, eventually, getJson, hooksOf, hubIdsOf, send } from '../support/fleet.ts'
import { type Scene, sceneFor } from '../support/scene.ts'

const stateOf = async (url: string, hubId: number) =>
  (await getJson<{ state: string }>(`${url}/api/v1/accounts/${hubId}`)).state

const alertsOf = async ({ sandbox }: Scene) => (await hooksOf(sandbox.url)).flatMap(({ body }) => body.data.alerts)

const deleteAtTheProvider = ({ sandbox }: Scene, hubId: number) =>
  send(`${sandbox.url}/sandbox/accounts/${hubId}?hub=deleted`, 'DELETE')

const breakerOf = async (url: string) =>
  (await getJson<{ tokenEndpoint: { breaker: string; cause: string | null } | null }>(`${url}/api/v1/status`))
    .tokenEndpoint

test("an account that was deleted at the provider must be connected again, and is nobody else's trouble", {
  timeout: 120_000,
}, async (context) => {
  const scene = await sceneFor(context, { accounts: 4 })
  const daemon = await scene.daemon()
  const hubIds = await hubIdsOf(scene.sandbox.url)
  await connectAll(daemon.url, hubIds)
  const [gone = 0, ...others] = hubIds
  await deleteAtTheProvider(scene, gone)

  await eventually('the refusal confirmed', async () => (await stateOf(daemon.url, gone)) === 'reauthorize', 60_000)
  const told = await eventually('its alert', async () =>
    (await alertsOf(scene)).find(({ kind, account }) => kind === 'token' && account?.hubId === gone),
  )
  expect(told).toMatchObject({ status: 'firing', level: 'critical' })
  expect(told.message).toContain('hub is deleted or disconnected')
  const codes = daemon.lines.flatMap((line) => /"code":"(token\.\w+)"/.exec(line)?.[1] ?? [])
  expect(codes[0]).toBe('token.rejected')
  expect(codes).not.toContain('token.client')
  expect(await Promise.all(others.map((hubId) => stateOf(daemon.url, hubId)))).toEqual(['active', 'active', 'active'])
  expect(await breakerOf(daemon.url)).toMatchObject({ breaker: 'closed' })
  expect((await alertsOf(scene)).map(({ kind }) => kind)).not.toContain('fleet')
})

test('all accounts deleted at once are one trouble of the fleet, and none is given up', {
  timeout: 120_000,
}, async (context) => {
  const scene = await sceneFor(context, { accounts: 12 })
  const daemon = await scene.daemon()
  const hubIds = await hubIdsOf(scene.sandbox.url)
  await connectAll(daemon.url, hubIds)
  await Promise.all(hubIds.map((hubId) => deleteAtTheProvider(scene, hubId)))

  const told = await eventually('the fleet alert', async () =>
    (await alertsOf(scene)).find(({ kind }) => kind === 'fleet'),
  )
  expect(told.message).toContain('refresh tokens of many accounts refused at once')
  expect(await breakerOf(daemon.url)).toMatchObject({ breaker: 'open', cause: 'refused' })
  expect((await alertsOf(scene)).filter(({ kind }) => kind === 'token')).toEqual([])
  const states = new Set(await Promise.all(hubIds.map((hubId) => stateOf(daemon.url, hubId))))
  expect([...states].filter((state) => !['active', 'failing'].includes(state))).toEqual([])
})
