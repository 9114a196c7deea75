import { expect, test } from 'vitest'
import { createKeys } from '../../src/redis/keys.ts'
import { ask, connectAccount, connectAll, eventually, getJson, hubIdsOf, journalOf, send } from '../support/fleet.ts'
import { refreshTimes, type Scene, sceneFor } from '../support/scene.ts'

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

/** A lease and a claim of a daemon that was killed end by themselves, within a minute. */
const isUninstalled = (url: string, hubId: number) =>
  eventually(
    'the end of the uninstall',
    async () => {
      const account = await accountOf(url, hubId)
      return account.state === 'uninstalled' && account
    },
    60_000,
  )

async function deletionsOf(scene: Scene, hubId: number): Promise<number[]> {
  const entries = (await journalOf(scene.sandbox.url)).filter(({ endpoint }) => endpoint === 'delete')
  return entries.filter((entry) => entry.hubId === hubId || entry.hubId === null).map(({ status }) => status)
}

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
  expect(account.uninstall).toMatchObject({ attempts: 1, failure: null, ending: 'was-gone' })
  expect(account.story.map(({ event }) => event).slice(-3)).toEqual([
    'uninstall asked for',
    'refresh token deleted',
    'record forgotten',
  ])
})

test.concurrent('an account that is connected again while its deletion fails stays, with tokens that work', async (context) => {
  const scene = await sceneFor(context, { accounts: 1 })
  const [hubId = 0] = await hubIdsOf(scene.sandbox.url)
  const daemon = await scene.daemon()
  await connectAccount(daemon.url, hubId)
  await addFault(scene, { endpoint: 'delete', status: 500 })
  await uninstall(daemon.url, hubId)
  await eventually('a failed attempt', async () => {
    const { story } = await accountOf(daemon.url, hubId)
    return story.some(({ event, detail = '' }) => event === 'deletion failed' && detail.includes('500'))
  })
  expect((await connectAccount(daemon.url, hubId)).status).toBe(200)
  await send(`${scene.sandbox.url}/sandbox/faults`, 'DELETE')
  const since = Date.now()
  await eventually('two refreshes', async () => {
    const times = refreshTimes(await journalOf(scene.sandbox.url)).get(hubId) ?? []
    return times.filter((time) => time > since).length >= 2
  })
  expect(await accountOf(daemon.url, hubId)).toMatchObject({ state: 'active', uninstall: null })
  expect((await deletionsOf(scene, hubId)).filter((status) => status === 204)).toEqual([])
})

test.concurrent('a refresh under way is waited for, and the token that it brought is the one that is deleted', async (context) => {
  const scene = await sceneFor(context, { accounts: 1 })
  const [hubId = 0] = await hubIdsOf(scene.sandbox.url)
  const daemon = await scene.daemon()
  await connectAccount(daemon.url, hubId)
  await addFault(scene, { endpoint: 'token', hubId, after: true, delayMs: 2_000, times: 1 })
  await faultsMet(scene)
  await uninstall(daemon.url, hubId)
  const { uninstall: ended } = await isUninstalled(daemon.url, hubId)
  // The token before it was ended by the rotation: deleting that one alone would have been a 404.
  expect(ended).toMatchObject({ ending: 'deleted' })
  expect((await deletionsOf(scene, hubId)).at(-1)).toBe(204)
})

test.concurrent('a refresh token that has been refused for as long as the config says is an uninstall', async (context) => {
  const scene = await sceneFor(context, { accounts: 1 })
  const [hubId = 0] = await hubIdsOf(scene.sandbox.url)
  const daemon = await scene.daemon({ uninstall: { afterRefused: '1h' } })
  await connectAccount(daemon.url, hubId)
  await send(`${scene.sandbox.url}/sandbox/accounts/${hubId}`, 'DELETE')
  await eventually('reauthorize', async () => (await accountOf(daemon.url, hubId)).state === 'reauthorize')

  // As if that had been long ago, and the daily probe were due now.
  const keys = createKeys('plimsoll')
  const store = scene.redis.connect()
  const longAgo = Date.now() - 2 * 3_600_000
  await store.hset(keys.account(hubId).account, { rejectedAt: longAgo, retryAt: longAgo })
  await store.zadd(keys.partition(keys.partitionOf(hubId)).due.refresh, longAgo, hubId)
  expect(await isUninstalled(daemon.url, hubId)).toMatchObject({
    uninstall: { by: 'evidence', reason: expect.stringMatching(/^refresh token refused since 20/), ending: 'was-gone' },
  })
})

test.concurrent('where nothing is kept an uninstalled account is unknown as soon as its token is deleted', async (context) => {
  const scene = await sceneFor(context, { accounts: 2 })
  const hubIds = await hubIdsOf(scene.sandbox.url)
  const [leaving = 0, staying = 0] = hubIds
  const daemon = await scene.daemon({ uninstall: { keep: 0 } })
  await connectAll(daemon.url, hubIds)
  await uninstall(daemon.url, leaving)
  await eventually('nothing left', async () => {
    const { status } = await ask(`${daemon.url}/api/v1/accounts/${leaving}`)
    return status === 404
  })
  expect(await deletionsOf(scene, leaving)).toEqual([204])
  expect(await accountOf(daemon.url, staying)).toMatchObject({ state: 'active' })
})
