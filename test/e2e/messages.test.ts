import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createKeys } from '../../src/redis/keys.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { aRelay, DAY, INTERVAL, WAIT } from '../alerts/a-relay.ts'
import { anAlert } from '../alerts/an-alert.ts'
import { plimsollHere } from '../support/command.ts'
import { type Daemon, startDaemon, writeDaemonConfig } from '../support/daemon.ts'
import { type FarSide, raw, startFarSide } from '../support/far-side.ts'
import {
  ask,
  connectAccount,
  connectAll,
  customProperties,
  eventually,
  freePort,
  getJson,
  hooksOf,
  hubIdsOf,
  mailsOf,
  send,
} from '../support/fleet.ts'
import { openScene, type Scene } from '../support/scene.ts'

describe('what an earlier config held back', () => {
  let scene: Scene
  beforeAll(async () => {
    scene = await openScene({ accounts: 0 })
  })
  afterAll(() => scene.close())

  test('what an earlier config held back until tomorrow is told when the daemon starts without that config', async () => {
    const one = aRelay(scene.redis.connect(), createKeys('plimsoll'), { routes: [{ to: ['ops-hook'] }] })
    const now = Date.now()
    one.silence(now + DAY)
    await one.commit({ alert: anAlert({ id: 'aaaa-1' }) })
    await one.look(now - WAIT - INTERVAL)
    await one.look(now)
    await one.expectBalance({ waiting: 1, deliveries: 0 })
    await scene.daemon()
    await eventually('the alert is told', async () => {
      const told = (await hooksOf(scene.sandbox.url)).flatMap(({ body }) => body.data.alerts.map(({ id }) => id))
      return told.includes('aaaa-1')
    })
  })
})

describe('heartbeat and digest', () => {
  /** Two daemons that share a Redis, and a heartbeat service; one receiver of the fleet gets a digest some minutes later. */
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

  /** Due so late that on a busy machine, too, both daemons know of it before, and of the alert that it lists. */
  function hookWithDigest(): object {
    const at = new Date(Date.now() + 150_000).toISOString().slice(11, 16)
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
      300_000,
    )
    expect(digest?.body.data).toMatchObject({ truncated: 0, period: 'day', totals: { accounts: 1, critical: 1 } })
    expect(digest?.body.data.alerts.map(({ account }) => account?.hubId)).toContain(hubIds[0])

    const periods = service.seen.length
    await service.came(periods + 1)
    expect(service.seen.map(({ path }) => path)).toEqual(Array(periods + 1).fill('/ping/heartbeat-key'))
    // The first was at the start, and each other belongs to a period of its own.
    expect(periods).toBeLessThanOrEqual(1 + Math.ceil(300 / 30))
    expect(await digests()).toHaveLength(1)

    const status = await getJson<{ heartbeat: object }>(`${url}/api/v1/status`)
    expect(status.heartbeat).toMatchObject({ ok: true, late: false, ping: { sent: true } })
    expect(await (await ask(`${url}/metrics`)).text()).toMatch(/^plimsoll_heartbeat_ok 1$/m)
    expect(await (await ask(url)).text()).toContain('within bounds')
    for (const { lines } of daemons) expect(lines.join('\n')).not.toContain('heartbeat-key')
  })
})

describe('the link of a mail', () => {
  /** The link of a mail, from the mail server to the state in Redis. */
  let folder: string
  let sandbox: Sandbox
  let daemon: Daemon

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'plimsoll-ack-'))
    sandbox = await startSandbox(
      {
        port: 0,
        smtpPort: 0,
        accounts: 1,
        tokenLifetimeMs: 60_000,
        rotateRefreshTokens: false,
        scenario: 'steady',
        clientId: 'sandbox-client-id',
        clientSecret: 'sandbox-client-secret',
      },
      systemClock,
    )
    daemon = await startDaemon(
      writeDaemonConfig(folder, { sandboxUrl: sandbox.url, smtpUrl: sandbox.smtpUrl, port: await freePort() }),
    )
  })

  afterAll(async () => {
    await daemon.stop()
    await sandbox.close()
    rmSync(folder, { recursive: true, force: true })
  })

  test('the link in a mail acknowledges its alert when the button behind it is pressed, and not when it is followed', async () => {
    const [hubId = 0] = await hubIdsOf(sandbox.url)
    const address = `${sandbox.url}/sandbox/accounts/${hubId}/custom-properties`
    await send(address, 'PUT', customProperties(960, 1000))
    await connectAccount(daemon.url, hubId)
    let link = ''
    await eventually('a mail with a link', async () => {
      const mails = await mailsOf(sandbox.url)
      link = /http:\S+\/acknowledge\?\S+/.exec(mails.map(({ text }) => text).join('\n'))?.[0] ?? ''
      return link !== ''
    })
    type Listed = { items: { hubId: number; acknowledged?: { by: string } }[] }
    const acknowledged = async () => (await getJson<Listed>(`${daemon.url}/api/v1/alerts`)).items[0]?.acknowledged

    const page = await fetch(link)
    expect(page.status).toBe(200)
    const [, action = ''] = /<form method="post" action="([^"]+)"/.exec(await page.text()) ?? []
    expect(await acknowledged()).toBeUndefined()
    const pressed = await fetch(new URL(action.replaceAll('&amp;', '&'), page.url), {
      method: 'POST',
      body: new URLSearchParams({ by: 'Ann', comment: '', level: 'critical' }),
    })
    expect(pressed.status).toBe(200)
    expect(await acknowledged()).toMatchObject({ by: 'Ann, by link' })
  })
})

describe('alerts test', () => {
  let scene: Scene
  let config: string
  let url: string

  beforeAll(async () => {
    scene = await openScene({ accounts: 0 })
    url = (await scene.daemon()).url
    config = await scene.configFile()
  })
  afterEach(() => faults('DELETE'))
  afterAll(() => scene.close())

  const testOf = (...args: string[]) => plimsollHere(['alerts', 'test', ...args, '--config', config], scene.folder)
  const faults = (method: 'POST' | 'DELETE', body?: object) => send(`${scene.sandbox.url}/sandbox/faults`, method, body)

  interface Deliveries {
    receivers: { receiver: string; state: string }[]
    items: { receiver: string; type: string; outcome: string; answer: number | null; ms: number | null }[]
  }
  const deliveries = () => getJson<Deliveries>(`${url}/api/v1/deliveries`)

  test('a test goes out at once, to a webhook and by mail, and is in the log of deliveries', async () => {
    expect(await testOf('ops-hook')).toMatchObject({
      code: 0,
      err: '',
      out: expect.stringMatching(/^ops-hook: delivered in /),
    })
    expect(await testOf('ops-mail')).toMatchObject({ code: 0, err: '', out: expect.stringContaining('answered 250') })
    const [hook] = await hooksOf(scene.sandbox.url)
    expect(hook?.body.type).toBe('alert.test')
    const [mail] = await mailsOf(scene.sandbox.url)
    expect(mail?.subject).toMatch(/^\[TEST\]/)
    expect((await deliveries()).items.slice(0, 2)).toMatchObject([
      { receiver: 'ops-mail', type: 'alert.test', outcome: 'delivered', answer: 250, ms: expect.any(Number) },
      { receiver: 'ops-hook', type: 'alert.test', outcome: 'delivered', ms: expect.any(Number) },
    ])
  })

  test('one that fails says why and what to do, and so does its JSON', async () => {
    await faults('POST', { endpoint: 'hooks', status: 401 })
    expect(await testOf('ops-hook')).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(/^plimsoll: ops-hook: answered 401: Unauthorized; check receivers\.ops-hook\.secrets/),
    })
    const { code, out } = await testOf('ops-hook', '--json')
    expect(code).toBe(1)
    expect(JSON.parse(out)).toMatchObject({ receiver: 'ops-hook', outcome: 'failed', answer: 401, noted: true })
    await eventually('the daemon lists it as failing', async () =>
      (await deliveries()).receivers.some(({ receiver, state }) => receiver === 'ops-hook' && state === 'failing'),
    )
  })

  test('one that arrives enables a receiver that was switched off', async () => {
    const store = scene.redis.connect()
    await store.hset('{plimsoll}:disabled', 'ops-hook', 'answered 410')
    expect(await testOf('ops-hook')).toMatchObject({ code: 0, out: expect.stringContaining('gets messages again') })
    await eventually('it delivers again', async () =>
      (await deliveries()).receivers.some(({ receiver, state }) => receiver === 'ops-hook' && state === 'delivers'),
    )
  })

  test('a name that no receiver has gets the one that was meant', async () => {
    expect(await testOf('ops-hok')).toMatchObject({
      code: 1,
      err: 'plimsoll: no receiver is called ops-hok: did you mean ops-hook?\n',
    })
  })
})
