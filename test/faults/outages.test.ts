import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { spawnDaemon } from '../support/daemon.ts'
import {
  connectAccount,
  connectAll,
  customProperties,
  eventually,
  getJson,
  hooksOf,
  hubIdsOf,
  journalOf,
  mailsOf,
  send,
} from '../support/fleet.ts'
import { refreshTimes, type Scene, sceneFor } from '../support/scene.ts'

// Each has a scene of its own, so that they may wait side by side.

const setUsage = (scene: Scene, hubId: number, usage: number) =>
  send(`${scene.sandbox.url}/sandbox/accounts/${hubId}/custom-properties`, 'PUT', customProperties(usage))

async function statesOf(url: string): Promise<Record<string, number>> {
  const { items } = await getJson<{ items: { state: string }[] }>(`${url}/api/v1/accounts?limit=500`)
  return Object.groupBy(items, ({ state }) => state) as never
}

/** Every account refreshed at least once after a moment. */
function allRefreshedSince(scene: Scene, since: number): Promise<unknown> {
  return eventually('a refresh of every account', async () => {
    const times = refreshTimes(await journalOf(scene.sandbox.url))
    return [...times.values()].every((at) => at.some((time) => time > since))
  })
}

test.concurrent('Redis that is restarted loses no account, no token and no alert, and everything goes on', async (context) => {
  const scene = await sceneFor(context)
  const { sandbox, redis } = scene
  const daemon = await scene.daemon()
  const hubIds = await hubIdsOf(sandbox.url)
  await connectAll(daemon.url, hubIds)
  await eventually('first polls', async () =>
    (await journalOf(sandbox.url)).some(({ endpoint }) => endpoint === 'associations'),
  )

  await redis.end('SIGKILL')
  const away = await fetch(`${daemon.url}/readyz`)
  expect(away.status).toBe(503)
  await redis.again()
  const back = Date.now()
  await eventually('ready again', async () => (await fetch(`${daemon.url}/readyz`)).status === 200)
  await setUsage(scene, hubIds[0] as number, 900)
  await allRefreshedSince(scene, back)
  await eventually('an alert', async () => (await hooksOf(sandbox.url)).length > 0)
  expect(Object.keys(await statesOf(daemon.url))).toEqual(['active'])
})

test.concurrent('a daemon that finds no Redis at its start says so, answers 503 and begins when Redis is there', async (context) => {
  const scene = await sceneFor(context)
  await scene.redis.end('SIGTERM')
  const daemon = spawnDaemon(await scene.configFile())
  try {
    await daemon.line(/"redis\.error"/, 0)
    await scene.redis.again()
    await daemon.line(/"daemon\.started"/, 0)
  } finally {
    expect(await daemon.stop()).toBe(0)
  }
})

test.concurrent('a daemon that is told to stop while it still waits for Redis does so at once and in good order', async (context) => {
  const scene = await sceneFor(context, { accounts: 1 })
  await scene.redis.end('SIGTERM')
  const daemon = spawnDaemon(await scene.configFile())
  await daemon.line(/"redis\.error"/, 0)
  expect(await daemon.stop()).toBe(0)
})

test.concurrent('a daemon is told to stop while everything hangs: work, Redis, a request; it waits for none of them', async (context) => {
  const scene = await sceneFor(context, { accounts: 3 })
  const { sandbox } = scene
  const daemon = await scene.daemon({ provider: { timeout: '60s' } })
  await send(`${sandbox.url}/sandbox/faults`, 'POST', { endpoint: 'customProperties', delayMs: 90_000 })
  await connectAll(daemon.url, await hubIdsOf(sandbox.url))
  await eventually('polls that hang', async () =>
    (await journalOf(sandbox.url)).some(({ endpoint }) => endpoint === 'associations'),
  )
  const dawdling = connect(Number(new URL(daemon.url).port), '127.0.0.1')
  dawdling.on('error', () => {})
  dawdling.write('POST /sign-in HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\n')
  // No command is answered any more, and every connection stays.
  await scene.redis.connect().client('PAUSE', 300_000, 'ALL')
  const begun = Date.now()
  expect(await daemon.stop()).toBe(0)
  // Far from the minute and more that each of these would hang.
  expect(Date.now() - begun).toBeLessThan(45_000)
  dawdling.destroy()
})

test.concurrent('limits endpoints that hang take no token with them', async (context) => {
  const scene = await sceneFor(context, { accounts: 120, tokenLifetimeMs: 60_000 })
  const { sandbox } = scene
  const daemon = await scene.daemon()
  await connectAll(daemon.url, await hubIdsOf(sandbox.url))
  for (const endpoint of ['customProperties', 'associations']) {
    await send(`${sandbox.url}/sandbox/faults`, 'POST', { endpoint, delayMs: 9_000 })
  }
  const since = Date.now()
  const refreshedTwice = async () => {
    const times = refreshTimes(await journalOf(sandbox.url))
    return [...times.values()].every((at) => at.filter((time) => time > since).length >= 2)
  }
  await eventually('two more refreshes of every account', refreshedTwice)
  expect(daemon.lines.filter((line) => line.includes('token.expired'))).toEqual([])
  await send(`${sandbox.url}/sandbox/faults`, 'DELETE')
})

test.concurrent('a mail server that is down delays mails and holds up nothing else; each arrives once it is back', async (context) => {
  const scene = await sceneFor(context, { accounts: 3 })
  const { sandbox } = scene
  const daemon = await scene.daemon()
  const hubIds = await hubIdsOf(sandbox.url)
  for (const hubId of hubIds) await setUsage(scene, hubId, 500)
  await connectAll(daemon.url, hubIds)
  await send(`${sandbox.url}/sandbox/faults`, 'POST', { endpoint: 'smtp', drop: true })
  for (const hubId of hubIds) await setUsage(scene, hubId, 900)
  await eventually('the webhooks', async () => (await hooksOf(sandbox.url)).length >= 3)
  await daemon.line(/"delivery\.retry".*ops-mail/, 0)
  expect(await mailsOf(sandbox.url)).toEqual([])
  await send(`${sandbox.url}/sandbox/faults`, 'DELETE')
  const mails = await eventually('the mails', async () => {
    const arrived = await mailsOf(sandbox.url)
    return arrived.length >= 3 && arrived
  })
  expect(new Set(mails.map(({ messageId }) => messageId)).size).toBe(3)
})

test.concurrent('a provider that answers 500 changes nobody to reauthorize; all tokens are fresh soon after it is back', async (context) => {
  const scene = await sceneFor(context)
  const { sandbox } = scene
  const daemon = await scene.daemon()
  await connectAll(daemon.url, await hubIdsOf(sandbox.url))
  for (const endpoint of ['token', 'customProperties', 'associations']) {
    await send(`${sandbox.url}/sandbox/faults`, 'POST', { endpoint, status: 500, body: '<html>oops</html>' })
  }
  await daemon.line(/"endpoint\.open".*"unreachable"/, 0)
  // One at a time is tried; what was noted of the first ones is not held against the rest.
  expect(Object.keys(await statesOf(daemon.url))).not.toContain('reauthorize')
  await send(`${sandbox.url}/sandbox/faults`, 'DELETE')
  const back = Date.now()
  await allRefreshedSince(scene, back)
  await eventually('all active', async () => Object.keys(await statesOf(daemon.url)).join() === 'active')
  expect((await journalOf(sandbox.url)).filter(({ status }) => status === 401)).toEqual([])
})

test.concurrent('a wrong client secret is nobody’s uninstall: accounts keep their state and go on once it is right again', async (context) => {
  const scene = await sceneFor(context, { accounts: 3 })
  const { sandbox } = scene
  const daemon = await scene.daemon()
  await connectAll(daemon.url, await hubIdsOf(sandbox.url))
  const body = { error: 'invalid_client', error_description: 'the client secret is wrong', status: 'BAD_CLIENT_SECRET' }
  await send(`${sandbox.url}/sandbox/faults`, 'POST', { endpoint: 'token', status: 400, body })
  await daemon.line(/"token\.client"/, 0)
  await daemon.line(/"endpoint\.open".*"credentials"/, 0)
  const alertsTold = async () => (await hooksOf(sandbox.url)).flatMap((hook) => hook.body.data.alerts)
  await eventually('the one alert', async () => (await alertsTold()).length > 0)
  expect(await alertsTold()).toMatchObject([{ kind: 'fleet', reason: 'entered', level: 'critical' }])
  expect(Object.keys(await statesOf(daemon.url))).toEqual(['active'])
  const refusals = (await journalOf(sandbox.url)).filter(({ status }) => status === 400).length
  expect(refusals).toBeLessThan(20)
  await send(`${sandbox.url}/sandbox/faults`, 'DELETE')
  await allRefreshedSince(scene, Date.now())
  await eventually('its end', async () => (await alertsTold()).some(({ reason }) => reason === 'recovered'))
  expect((await alertsTold()).map(({ reason }) => reason)).toEqual(['entered', 'recovered'])
})

test.concurrent('a webhook that answers 410 gets nothing more, and the others are told', async (context) => {
  const scene = await sceneFor(context, { accounts: 2 })
  const { sandbox } = scene
  const daemon = await scene.daemon()
  const [hubId = 0, other = 0] = await hubIdsOf(sandbox.url)
  await send(`${sandbox.url}/sandbox/faults`, 'POST', { endpoint: 'hooks', status: 410 })
  await setUsage(scene, hubId, 900)
  await connectAccount(daemon.url, hubId)
  const told = await eventually('the mail about it', async () =>
    (await mailsOf(sandbox.url)).find(({ text }) => text.includes('ops-hook')),
  )
  expect(told.subject).toMatch(/^\[CRITICAL\]/)
  await send(`${sandbox.url}/sandbox/faults`, 'DELETE')
  await setUsage(scene, other, 900)
  await connectAccount(daemon.url, other)
  await eventually('the other account’s mail', async () =>
    (await mailsOf(sandbox.url)).some(({ subject }) => subject.includes(`(${other})`)),
  )
  await daemon.line(/"delivery\.dead".*ops-hook.*|ops-hook.*"delivery\.dead"/, 0)
  expect(await hooksOf(sandbox.url)).toEqual([])
})

test.concurrent('one account that is slow and one that answers garbage hold up nobody', async (context) => {
  const scene = await sceneFor(context, { accounts: 8 })
  const { sandbox } = scene
  const daemon = await scene.daemon({ provider: providerOf(scene, '1s') })
  const hubIds = await hubIdsOf(sandbox.url)
  await connectAll(daemon.url, hubIds)
  const [slow, garbled, ...others] = hubIds as [number, number, ...number[]]
  await send(`${sandbox.url}/sandbox/faults`, 'POST', { endpoint: 'customProperties', hubId: slow, delayMs: 60_000 })
  await send(`${sandbox.url}/sandbox/faults`, 'POST', {
    endpoint: 'customProperties',
    hubId: garbled,
    body: '{"overallLimit": 10',
  })
  const since = Date.now()
  await eventually('five polls of each of the others', async () => {
    const polls = (await journalOf(sandbox.url)).filter(
      ({ endpoint, time }) => endpoint === 'customProperties' && Date.parse(time) > since,
    )
    return others.every((hubId) => polls.filter((poll) => poll.hubId === hubId).length >= 5)
  })
  const account = await getJson<{ pollFailure: { reason: string } }>(`${daemon.url}/api/v1/accounts/${garbled}`)
  expect(account.pollFailure.reason).toContain('not valid JSON')
  expect((await connectAccount(daemon.url, garbled)).status).toBe(200)
})

function providerOf({ sandbox }: Scene, timeout: string): object {
  return {
    baseUrl: sandbox.url,
    installUrl: `${sandbox.url}/oauth/authorize`,
    timeout,
    clientId: 'sandbox-client-id',
    clientSecret: 'sandbox-client-secret',
    scopes: ['oauth', 'crm.objects.contacts.read'],
  }
}
