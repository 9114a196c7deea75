import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../src/runtime/clock.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { type Daemon, startDaemon, writeDaemonConfig } from '../support/daemon.ts'
import {
  connectAccount,
  customProperties,
  eventually,
  freePort,
  getJson,
  hubIdsOf,
  mailsOf,
  send,
} from '../support/fleet.ts'

/** The link of a mail, from the mail server to the state in Redis. */
let folder: string
let sandbox: Sandbox
let daemon: Daemon

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'plimsoll-ack-'))
  sandbox = await startSandbox(
    {
      ...{ port: 0, smtpPort: 0, accounts: 1, tokenLifetimeMs: 60_000, rotateRefreshTokens: false, scenario: 'steady' },
      ...{ clientId: 'sandbox-client-id', clientSecret: 'sandbox-client-secret' },
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
  expect(await acknowledged()).toMatchObject({ by: 'Ann' })
})
