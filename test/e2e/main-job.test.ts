import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../src/runtime/clock.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { type Daemon, startDaemon, WEBHOOK_SECRET, writeDaemonConfig } from '../support/daemon.ts'
import {
  ask,
  connectAccount,
  customProperties,
  eventually,
  freePort,
  getJson,
  type Hook,
  hooksOf,
  hubIdsOf,
  journalOf,
  mailsOf,
  send,
} from '../support/fleet.ts'
import { folderOfFile } from '../support/of-file.ts'

/** One daemon on its embedded Redis, one sandbox: an account's way from install to uninstall. */
const folder = folderOfFile()
let sandbox: Sandbox
let daemon: Daemon
let hubIds: number[]

beforeAll(async () => {
  sandbox = await startSandbox(
    {
      port: 0,
      smtpPort: 0,
      accounts: 6,
      tokenLifetimeMs: 12_000,
      rotateRefreshTokens: true,
      scenario: 'steady',
      clientId: 'sandbox-client-id',
      clientSecret: 'sandbox-client-secret',
    },
    systemClock,
  )
  const config = { sandboxUrl: sandbox.url, smtpUrl: sandbox.smtpUrl, port: await freePort() }
  daemon = await startDaemon(writeDaemonConfig(folder, config))
  hubIds = await hubIdsOf(sandbox.url)
})

afterAll(async () => {
  await daemon.stop()
  await sandbox.close()
})

const account = (n: number) => hubIds[n] as number

function setUsage(hubId: number, overallUsage: number, overallLimit = 1000): Promise<Response> {
  const url = `${sandbox.url}/sandbox/accounts/${hubId}/custom-properties`
  return send(url, 'PUT', customProperties(overallUsage, overallLimit))
}

/** Webhooks about an account, as [reason, level, id], in the order in which they came. */
async function toldAbout(hubId: number): Promise<{ reason: string; level: string; id: string }[]> {
  const hooks = await hooksOf(sandbox.url)
  return hooks.flatMap(({ body }) => body.data.alerts).filter((alert) => alert.account?.hubId === hubId)
}

test('an account that a customer connects is polled at once and refreshed again and again before its token expires', async () => {
  expect((await connectAccount(daemon.url, account(0))).status).toBe(200)
  await eventually('three refreshes and three polls', async () => {
    const entries = (await journalOf(sandbox.url)).filter(({ hubId }) => hubId === account(0))
    const refreshes = entries.filter(({ grant }) => grant === 'refresh_token')
    const polls = entries.filter(({ endpoint }) => endpoint === 'customProperties')
    return refreshes.length >= 3 && polls.length >= 3
  })
  expect((await journalOf(sandbox.url)).filter(({ status }) => status === 401)).toEqual([])
  const { items } = await getJson<{ items: { hubId: number; state: string }[] }>(`${daemon.url}/api/v1/accounts`)
  expect(items).toMatchObject([{ hubId: account(0), state: 'active' }])
})

test('rising usage is told when it enters warning, when it escalates and when it recovers, by mail and by webhook', async () => {
  const hubId = account(1)
  await setUsage(hubId, 500)
  await connectAccount(daemon.url, hubId)
  await eventually('the first poll', async () => {
    const { polledAt } = await getJson<{ polledAt: string | null }>(`${daemon.url}/api/v1/accounts/${hubId}`)
    return polledAt !== null
  })
  for (const [usage, reason, level] of [
    [850, 'entered', 'warning'],
    [960, 'escalated', 'critical'],
    [900, 'eased', 'warning'],
    [700, 'recovered', 'warning'],
  ] as const) {
    await setUsage(hubId, usage)
    await eventually(`${reason} at ${usage}`, async () => {
      const last = (await toldAbout(hubId)).at(-1)
      return last?.reason === reason && last.level === level
    })
  }
  expect((await toldAbout(hubId)).map(({ reason }) => reason)).toEqual(['entered', 'escalated', 'eased', 'recovered'])
  const subjects = await eventually('four mails', async () => {
    const mails = (await mailsOf(sandbox.url)).filter(({ subject }) => subject.includes(`(${hubId})`))
    return mails.length >= 4 && mails.map(({ subject }) => subject)
  })
  expect(subjects).toEqual([
    expect.stringMatching(/^\[WARNING\] .*Custom properties 85 %$/),
    expect.stringMatching(/^\[CRITICAL\] .*Custom properties 96 %$/),
    expect.stringMatching(/^\[WARNING\] .*Custom properties 90 %$/),
    expect.stringMatching(/^\[RESOLVED\] /),
  ])
})

test('what was read stands in the history, change by change', async () => {
  const { items } = await getJson<{ items: { at: string; series: { metric: string; usage: number }[] }[] }>(
    `${daemon.url}/api/v1/accounts/${account(1)}/snapshots?resolution=raw`,
  )
  const overall = items.map(({ series }) => series.find(({ metric }) => metric === 'customProperties.overall')?.usage)
  expect(overall).toEqual([500, 850, 960, 900, 700])
})

test('every webhook verifies with the library of the standard', async () => {
  const hooks = await hooksOf(sandbox.url)
  expect(hooks.length).toBeGreaterThan(3)
  for (const { rawBody, headers } of hooks) {
    expect(new Webhook(WEBHOOK_SECRET).verify(rawBody, headers)).toMatchObject({ type: expect.any(String) })
  }
})

test('mails carry the headers of automatic messages, thread by series and never share a Message-ID', async () => {
  const mails = (await mailsOf(sandbox.url)).filter(({ subject }) => subject.includes(`(${account(1)})`))
  for (const { headers } of mails) {
    expect(headers['auto-submitted']).toBe('auto-generated')
    expect(headers['x-auto-response-suppress']).toBe('All')
  }
  expect(new Set(mails.map(({ headers }) => headers.references)).size).toBe(1)
  expect(new Set(mails.map(({ messageId }) => messageId)).size).toBe(mails.length)
})

test('an uninstall closes what is open, deletes the refresh token at the provider and ends all calls', async () => {
  const hubId = account(2)
  await setUsage(hubId, 990)
  await connectAccount(daemon.url, hubId)
  await eventually('the alert', async () => (await toldAbout(hubId)).length === 1)

  const answer = await ask(`${daemon.url}/api/v1/accounts/${hubId}/uninstall`, { method: 'POST' })
  expect(answer.status).toBe(202)
  await eventually('deletion at the provider', async () => {
    const deleted = (await journalOf(sandbox.url)).filter(({ endpoint }) => endpoint === 'delete')
    return deleted.some((entry) => entry.hubId === hubId && entry.status === 200)
  })
  await eventually('the alert closed', async () => (await toldAbout(hubId)).at(-1)?.reason === 'uninstalled')
  const state = () => getJson<{ state: string; token: unknown }>(`${daemon.url}/api/v1/accounts/${hubId}`)
  await eventually('the tombstone', async () => (await state()).state === 'uninstalled')

  const calls = async () => (await journalOf(sandbox.url)).filter((entry) => entry.hubId === hubId).length
  const callsThen = await calls()
  const others = async () => (await journalOf(sandbox.url)).filter((entry) => entry.hubId === account(0)).length
  const othersThen = await others()
  await eventually('a refresh and some polls of another account', async () => (await others()) > othersThen + 12)
  expect(await calls()).toBe(callsThen)
})

test('an uninstall on the provider side is confirmed and told once, not retried for ever', async () => {
  const hubId = account(3)
  await connectAccount(daemon.url, hubId)
  await send(`${sandbox.url}/sandbox/accounts/${hubId}`, 'DELETE')
  await eventually('reauthorize', async () => {
    const { state } = await getJson<{ state: string }>(`${daemon.url}/api/v1/accounts/${hubId}`)
    return state === 'reauthorize'
  })
  const [told, ...more] = await eventually('the token alert', async () => {
    const alerts = await toldAbout(hubId)
    return alerts.length > 0 && alerts
  })
  expect(told).toMatchObject({ kind: 'token', status: 'firing', level: 'critical', reason: 'entered' })
  expect(more).toEqual([])
  const refusals = (await journalOf(sandbox.url)).filter((entry) => entry.hubId === hubId && entry.status === 400)
  expect(refusals.length).toBeGreaterThanOrEqual(2)
  // Every two seconds until another account was refreshed: at most for a life of the token.
  expect(refusals.length).toBeLessThanOrEqual(7)
})

test('connecting such an account again closes the alert and keeps its tokens alive from then on', async () => {
  const hubId = account(3)
  expect((await connectAccount(daemon.url, hubId)).status).toBe(200)
  await eventually('recovered', async () => (await toldAbout(hubId)).at(-1)?.reason === 'recovered')
  await eventually('a refresh', async () => {
    const entries = (await journalOf(sandbox.url)).filter((entry) => entry.hubId === hubId)
    const again = entries.findLastIndex(({ grant }) => grant === 'authorization_code')
    return entries.slice(again).some(({ grant, status }) => grant === 'refresh_token' && status === 200)
  })
})

test('a webhook that fails is sent again with the same id and body', async () => {
  const hubId = account(4)
  await setUsage(hubId, 500)
  await connectAccount(daemon.url, hubId)
  await send(`${sandbox.url}/sandbox/faults`, 'POST', { endpoint: 'hooks', status: 500, times: 1, after: true })
  await setUsage(hubId, 900)
  const [first, second] = await eventually<[Hook, Hook]>('two copies', async () => {
    const copies = (await hooksOf(sandbox.url)).filter(({ body }) => body.data.alerts[0]?.account?.hubId === hubId)
    return copies.length === 2 && (copies as [Hook, Hook])
  })
  expect(second.headers['webhook-id']).toBe(first.headers['webhook-id'])
  expect(second.rawBody).toBe(first.rawBody)
})

test('a stop loses nothing: the next daemon goes on with the same accounts', async () => {
  expect(await daemon.stop()).toBe(0)
  const config = { sandboxUrl: sandbox.url, smtpUrl: sandbox.smtpUrl, port: await freePort() }
  daemon = await startDaemon(writeDaemonConfig(folder, config))
  const since = (await journalOf(sandbox.url)).length
  await eventually('a refresh of the first account', async () => {
    const entries = (await journalOf(sandbox.url)).slice(since)
    return entries.some(
      ({ hubId, grant, status }) => hubId === account(0) && grant === 'refresh_token' && status === 200,
    )
  })
})
