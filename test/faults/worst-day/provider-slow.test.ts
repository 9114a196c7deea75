import { expect, type TestContext, test } from 'vitest'
import type { Daemon } from '../../support/daemon.ts'
import { connectAll, eventually, getJson, hubIdsOf } from '../../support/fleet.ts'
import { lookInto } from '../../support/look-into.ts'
import { sceneFor } from '../../support/scene.ts'
import { type Fault, isReport, isToken, startRoughProvider } from './rough-provider.ts'

function after(ms: number): Fault {
  return (socket, forward) => {
    setTimeout(() => {
      void forward().then((answer) => socket.writable && socket.write(answer))
    }, ms)
  }
}

async function fleetBehind(
  context: TestContext,
  accounts: number,
  { lifeMs = 24_000, rotates = false, timeout = '13s' } = {},
) {
  const scene = await sceneFor(context, { accounts, tokenLifetimeMs: lifeMs, rotateRefreshTokens: rotates })
  const rough = await startRoughProvider(scene.sandbox.url)
  context.onTestFinished(() => rough.stop())
  const daemon = await scene.daemon({
    provider: { baseUrl: rough.url, timeout },
    tokens: { refreshFrom: '30%', refreshBy: '50%' },
    limits: { every: '2s' },
  })
  const hubIds = await hubIdsOf(scene.sandbox.url)
  await connectAll(daemon.url, hubIds)
  const lines = (pattern: RegExp) => daemon.lines.filter((line) => pattern.test(line))
  return { ...lookInto(() => scene), scene, rough, daemon, hubIds, lines }
}

const tokensOf = async ({ url }: Daemon) =>
  (await getJson<{ tokens: { lateMs: number } }>(`${url}/api/v1/status`)).tokens

// 64 connections, 9 s each: 7 answers a second, of which 150 tokens of 60 s need 6, and polls would take hundreds.
test.concurrent('each answer takes 9 seconds: refreshes go ahead of polls, no token expires, and how late they are is told', async (context) => {
  const { rough, daemon, hubIds, lines, refreshedSince, statesOf } = await fleetBehind(context, 150, {
    // A busy machine adds seconds of its own to the nine.
    lifeMs: 60_000,
    timeout: '20s',
  })
  rough.fault = () => after(9_000)
  const since = Date.now()
  await eventually('refreshes that are late', async () => (await tokensOf(daemon)).lateMs > 1_000)
  await refreshedSince(hubIds, since)
  expect(lines(/"token\.(?:expired|transient)"|"endpoint\.open"/)).toEqual([])
  // They have places of their own, and get an answer now and then.
  expect(rough.seen.filter((request) => isReport(request) && request.at >= since).length).toBeGreaterThan(0)
  expect(await statesOf(daemon)).toEqual({ active: hubIds.length })
})

test.concurrent('each answer comes a second too late: one alert, one probe at a time, nobody is blamed, and all are refreshed once it is quick again', async (context) => {
  const { rough, daemon, hubIds, refreshedSince, statesOf, told } = await fleetBehind(context, 30, { timeout: '6s' })
  rough.fault = () => after(7_000)
  await daemon.line(/"endpoint\.open".*no complete answer within 6 s/, 0)
  await eventually('the alert', async () =>
    (await told()).some(({ kind, status }) => kind === 'fleet' && status === 'firing'),
  )
  const states = await statesOf(daemon)
  expect(Object.keys(states).filter((is) => !['active', 'failing'].includes(is))).toEqual([])
  rough.fault = () => undefined
  await refreshedSince(hubIds, Date.now())
  await eventually('all well', async () => (await statesOf(daemon)).active === hubIds.length)
  await eventually('its end', async () => (await told()).some(({ status }) => status === 'resolved'))
  expect((await told()).filter(({ kind }) => kind !== 'fleet')).toEqual([])
})

test.concurrent('the provider redeems a rotating token and its answer is lost: the account must be connected again, and that is told with what was lost', async (context) => {
  const { rough, daemon, hubIds, statesOf, told, inState, allRefreshed, refreshedSince } = await fleetBehind(
    context,
    6,
    {
      rotates: true,
    },
  )
  // From here on refresh tokens are known to rotate.
  await allRefreshed(hubIds)
  let lost = 0
  rough.fault = (request) => {
    if (lost > 0 || !isToken(request) || !request.raw.includes('grant_type=refresh_token')) return undefined
    lost++
    return (socket, forward) => void forward().then(() => socket.destroy())
  }
  const failed = JSON.parse(await daemon.line(/"token\.transient"/, 0)) as { hubId: number }
  await inState(daemon, failed.hubId, 'reauthorize')
  const alert = await eventually('the alert', async () => (await told()).find(({ kind }) => kind === 'token'))
  expect(alert).toMatchObject({ kind: 'token', level: 'critical', account: { hubId: failed.hubId } })
  expect(alert.message).toMatch(/broke off at .*the answer lost.*reconnect-link \d+/)
  await refreshedSince(
    hubIds.filter((id) => id !== failed.hubId),
    Date.now(),
  )
  expect(await statesOf(daemon)).toEqual({ active: hubIds.length - 1, reauthorize: 1 })
})
