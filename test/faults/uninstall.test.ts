import { describe, expect, test } from 'vitest'
import { ask, connectAccount, connectAll, eventually, getJson, hooksOf, hubIdsOf, send } from '../support/fleet.ts'
import { type Scene, sceneFor } from '../support/scene.ts'

describe('an uninstall', () => {
  interface Told {
    state: string
    uninstall: { attempts: number; failure: string | null; ending: string | null; purgeAt: string | null } | null
    story: { at: string; event: string; detail?: string }[]
  }

  const accountOf = (url: string, hubId: number) => getJson<Told>(`${url}/api/v1/accounts/${hubId}`)
  const uninstall = (url: string, hubId: number) => ask(`${url}/api/v1/accounts/${hubId}/uninstall`, { method: 'POST' })
  const addFault = (scene: Scene, fault: object) => send(`${scene.sandbox.url}/sandbox/faults`, 'POST', fault)

  /** Until the standing faults have met the calls they were for. */
  const faultsMet = (scene: Scene) =>
    eventually('the fault', async () => (await getJson<[]>(`${scene.sandbox.url}/sandbox/faults`)).length === 0)

  /** A claim of a daemon that was killed ends by itself, within a minute. */
  const isUninstalled = (url: string, hubId: number) =>
    eventually(
      'the end of the uninstall',
      async () => {
        const account = await accountOf(url, hubId)
        return account.state === 'uninstalled' && account
      },
      60_000,
    )

  test.concurrent('a daemon that is killed between the deletion and its record leaves an uninstall that the next one ends', async (context) => {
    const scene = await sceneFor(context, { accounts: 1 })
    const [hubId = 0] = await hubIdsOf(scene.sandbox.url)
    const daemon = await scene.daemon()
    await connectAccount(daemon.url, hubId)
    await addFault(scene, { endpoint: 'delete', after: true, delayMs: 60_000, times: 1 })
    await uninstall(daemon.url, hubId)
    await faultsMet(scene)
    await daemon.kill()

    const next = await scene.daemon()
    const account = await isUninstalled(next.url, hubId)
    // The dated versions answer the same for a token that is gone (RFC 7009, section 2.2).
    expect(account.uninstall).toMatchObject({ attempts: 1, failure: null, ending: 'deleted' })
    expect(account.story.map(({ event }) => event).slice(-3)).toEqual([
      'uninstall requested',
      'refresh token deleted',
      'record deleted',
    ])
  })
})

describe('an account that is deleted', () => {
  const stateOf = async (url: string, hubId: number) =>
    (await getJson<{ state: string }>(`${url}/api/v1/accounts/${hubId}`)).state

  const alertsOf = async ({ sandbox }: Scene) => (await hooksOf(sandbox.url)).flatMap(({ body }) => body.data.alerts)

  const deleteAtTheProvider = ({ sandbox }: Scene, hubId: number) =>
    send(`${sandbox.url}/sandbox/accounts/${hubId}?hub=deleted`, 'DELETE')

  const breakerOf = async (url: string) =>
    (await getJson<{ tokenEndpoint: { breaker: string; cause: string | null } | null }>(`${url}/api/v1/status`))
      .tokenEndpoint

  test("an account that was deleted at the provider must be connected again, and is nobody else's trouble", async (context) => {
    const scene = await sceneFor(context, { accounts: 4 })
    const daemon = await scene.daemon()
    const hubIds = await hubIdsOf(scene.sandbox.url)
    await connectAll(daemon.url, hubIds)
    const [gone = 0, ...others] = hubIds
    await deleteAtTheProvider(scene, gone)

    await eventually('the refusal confirmed', async () => (await stateOf(daemon.url, gone)) === 'reauthorize')
    const told = await eventually('its alert', async () =>
      (await alertsOf(scene)).find(
        // On a busy machine its token ends before the second refusal: then a warning comes first.
        ({ kind, account, level }) => kind === 'token' && account?.hubId === gone && level === 'critical',
      ),
    )
    expect(told).toMatchObject({ status: 'firing' })
    expect(told.message).toContain('hub is deleted or disconnected')
    const codes = daemon.lines.flatMap((line) => /"code":"(token\.\w+)"/.exec(line)?.[1] ?? [])
    expect(codes).toContain('token.rejected')
    expect(codes).not.toContain('token.client')
    expect(await Promise.all(others.map((hubId) => stateOf(daemon.url, hubId)))).toEqual(['active', 'active', 'active'])
    expect(await breakerOf(daemon.url)).toMatchObject({ breaker: 'closed' })
    expect((await alertsOf(scene)).map(({ kind }) => kind)).not.toContain('fleet')
  })

  test('all accounts deleted at once are one trouble of the fleet, and none is given up', async (context) => {
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
})
