import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, type TestContext, test } from 'vitest'
import { startDaemon, WEBHOOK_SECRET } from '../../support/daemon.ts'
import { connectAll, customProperties, eventually, hooksOf, hubIdsOf, mailsOf } from '../../support/fleet.ts'
import { lookInto } from '../../support/look-into.ts'
import { sceneFor } from '../../support/scene.ts'
import { startRoughProvider } from './rough-provider.ts'

const PRELOAD = new URL('names-preload.mjs', import.meta.url)
const HERE = '127.0.0.1'
const ELSEWHERE = '127.0.0.2'

/** A fleet whose daemon reaches provider, mail server and webhook by names that a test gives and takes away. */
async function fleetByName(context: TestContext) {
  const scene = await sceneFor(context, { accounts: 10, tokenLifetimeMs: 24_000, rotateRefreshTokens: false })
  const rough = await startRoughProvider(scene.sandbox.url)
  context.onTestFinished(() => rough.stop())
  const file = join(scene.folder, 'names.json')
  const names = (known: Record<string, string>) => writeFileSync(file, JSON.stringify(known))
  const ALL = { 'provider.test': HERE, 'mail.test': HERE, 'hooks.test': HERE }
  names(ALL)
  const port = new URL(rough.url).port
  const config = await scene.configFile({
    provider: { baseUrl: `http://provider.test:${port}`, insecure: true },
    tokens: { refreshFrom: '30%', refreshBy: '50%' },
    receivers: {
      'ops-mail': {
        type: 'email',
        from: 'Plimsoll <plimsoll@example.com>',
        to: ['ops@example.com'],
        insecure: true,
        smtp: scene.sandbox.smtpUrl.replace(HERE, 'mail.test'),
      },
      'ops-hook': {
        type: 'webhook',
        secrets: [WEBHOOK_SECRET],
        insecure: true,
        url: `${scene.sandbox.url.replace(HERE, 'hooks.test')}/sandbox/hooks`,
      },
    },
  })
  const preload = new URL(PRELOAD)
  preload.searchParams.set('names', file)
  const daemon = await startDaemon(config, { NODE_OPTIONS: `--import=${preload}` })
  context.onTestFinished(async () => void (await daemon.stop()))
  const hubIds = await hubIdsOf(scene.sandbox.url)
  await connectAll(daemon.url, hubIds)
  return { ...lookInto(() => scene), scene, rough, port, daemon, hubIds, names, ALL }
}

test.concurrent('the name service is gone: open connections go on; then the endpoint fails, nobody is blamed, messages wait, and all is made up for', async (context) => {
  const fleet = await fleetByName(context)
  const { scene, rough, daemon, hubIds, names, ALL } = fleet
  const [hubId = 0] = hubIds
  await fleet.refreshedSince(hubIds, 0)
  names({})
  // What is connected needs no name.
  await fleet.refreshedSince(hubIds, Date.now())
  rough.hangUp()
  await daemon.line(/"endpoint\.open".*could not be resolved/, 0)
  await daemon.line(/"delivery\.retry".*ops-mail|ops-mail.*"delivery\.retry"/, 0)
  await daemon.line(/"delivery\.retry".*ops-hook|ops-hook.*"delivery\.retry"/, 0)
  expect(Object.keys(await fleet.statesOf(daemon)).filter((is) => !['active', 'failing'].includes(is))).toEqual([])
  names(ALL)
  await fleet.control('PUT', `accounts/${hubId}/custom-properties`, customProperties(900))
  await fleet.refreshedSince(hubIds, Date.now())
  await eventually('all well', async () => (await fleet.statesOf(daemon)).active === hubIds.length)
  await eventually('what was to be told', async () => (await fleet.told()).some(({ kind }) => kind === 'fleet'))
  await eventually('the mails', async () => (await mailsOf(scene.sandbox.url)).length >= 1)
  const hooks = (await hooksOf(scene.sandbox.url)).map(({ headers }) => headers['webhook-id'])
  expect(new Set(hooks).size).toBe(hooks.length)
})

test.concurrent('the provider moves to another address: calls go there as soon as the connections to the old one end', async (context) => {
  const fleet = await fleetByName(context)
  const { scene, rough, port, daemon, hubIds, names, ALL } = fleet
  const moved = await startRoughProvider(scene.sandbox.url, { host: ELSEWHERE, port: Number(port) })
  context.onTestFinished(() => moved.stop())
  names({ ...ALL, 'provider.test': ELSEWHERE })
  await rough.stop()
  const since = Date.now()
  await fleet.refreshedSince(hubIds, since)
  expect(moved.seen.length).toBeGreaterThan(hubIds.length)
  expect(daemon.lines.filter((line) => /"token\.expired"|"endpoint\.open"/.test(line))).toEqual([])
})
