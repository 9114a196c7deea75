import { afterAll, beforeAll, expect, test } from 'vitest'
import { type FarSide, raw, startFarSide } from '../support/far-side.ts'
import { ask, connectAll, customProperties, eventually, getJson, hooksOf, hubIdsOf, send } from '../support/fleet.ts'
import { openScene, type Scene } from '../support/scene.ts'

/** Two daemons that share a Redis, and a heartbeat service; one receiver of the fleet gets a digest at the next minute. */
let scene: Scene
let service: FarSide
let daemons: Awaited<ReturnType<Scene['daemon']>>[]

beforeAll(async () => {
  scene = await openScene({ accounts: 4, tokenLifetimeMs: 60_000 })
  service = await startFarSide()
  service.answer = raw(200, 'OK')
  const settings = {
    heartbeat: { url: `${service.url}/ping/heartbeat-key`, every: '30s' },
    receivers: { 'ops-hook': hookWithDigest() },
  }
  daemons = await Promise.all([scene.daemon(settings), scene.daemon(settings)])
})
afterAll(async () => {
  await scene.close()
  await service.stop()
})

/** Due a minute or two from now, so that both daemons know of it before. */
function hookWithDigest(): object {
  const at = new Date(Date.now() + 90_000).toISOString().slice(11, 16)
  const secrets = [Buffer.alloc(32, 5).toString('base64')]
  return {
    type: 'webhook',
    url: `${scene.sandbox.url}/sandbox/hooks`,
    secrets,
    digest: { every: 'day', at, timeZone: 'UTC' },
  }
}

test('the service outside hears from one of both daemons, once in a period, and a receiver gets one digest', async () => {
  const url = daemons[0]?.url ?? ''
  const hubIds = await hubIdsOf(scene.sandbox.url)
  await connectAll(url, hubIds)
  await send(
    `${scene.sandbox.url}/sandbox/accounts/${hubIds[0]}/custom-properties`,
    'PUT',
    customProperties(970, 1_000),
  )

  const digests = async () => (await hooksOf(scene.sandbox.url)).filter(({ body }) => body.type === 'alert.digest')
  const [digest] = await eventually(
    'a digest',
    async () => ((await digests()).length > 0 ? digests() : undefined),
    180_000,
  )
  expect(digest?.body.data).toMatchObject({ truncated: 0, period: 'day', totals: { accounts: 1, critical: 1 } })
  expect(digest?.body.data.alerts.map(({ account }) => account?.hubId)).toContain(hubIds[0])

  const periods = service.seen.length
  await service.came(periods + 1)
  expect(service.seen.map(({ path }) => path)).toEqual(Array(periods + 1).fill('/ping/heartbeat-key'))
  // The first was at the start, and each other belongs to a period of its own.
  expect(periods).toBeLessThanOrEqual(1 + Math.ceil(180 / 30))
  expect(await digests()).toHaveLength(1)

  const status = await getJson<{ heartbeat: object }>(`${url}/api/v1/status`)
  expect(status.heartbeat).toMatchObject({ ok: true, late: false, ping: { sent: true } })
  expect(await (await ask(`${url}/metrics`)).text()).toMatch(/^plimsoll_heartbeat_ok 1$/m)
  expect(await (await ask(url)).text()).toContain('within bounds')
  for (const { lines } of daemons) expect(lines.join('\n')).not.toContain('heartbeat-key')
})
