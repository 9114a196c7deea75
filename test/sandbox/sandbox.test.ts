import { createServer, type Server } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { HandClock } from './hand-clock.ts'
import { CUSTOM_PROPERTIES, HUB, visit } from './visit.ts'

test('the front page leads everywhere', async () => {
  const { call, sandbox } = await visit()
  const text = await (await call('GET', '/')).text()
  const links = [...text.matchAll(/href="([^"]+)"/g)].map(([, link = '']) => link)
  expect(links.length).toBeGreaterThanOrEqual(5)
  for (const link of links) expect((await call('GET', link)).status).toBe(200)
  expect(text).toContain(sandbox.smtpUrl)
})

test('ends at once, though connections are open and answers delayed', async () => {
  const { sandbox, connect, call, read, clock } = await visit()
  const { access_token: token } = await connect()
  await call('POST', '/sandbox/faults', { endpoint: 'customProperties', delayMs: 3_600_000 })
  const lost = expect(read(CUSTOM_PROPERTIES, token)).rejects.toThrow()
  await clock.sleeper()
  await sandbox.close()
  await sandbox.close()
  await lost
  await expect(call('GET', '/')).rejects.toThrow()
})

test('says which port was taken, and leaves the other one free', async () => {
  const taken = createServer()
  onTestFinished(() => new Promise<void>((resolve) => taken.close(() => resolve())))
  const smtpPort = await listening(taken, 0)
  const probe = createServer()
  const port = await listening(probe, 0)
  await new Promise<void>((resolve) => probe.close(() => resolve()))
  const options = { accounts: 1, tokenLifetimeMs: 60_000, rotateRefreshTokens: false, scenario: 'steady' } as const
  const start = startSandbox({ ...options, port, smtpPort, clientId: 'c', clientSecret: 's' }, new HandClock())
  await expect(start).rejects.toThrow(String(smtpPort))
  expect(await listening(probe, port)).toBe(port)
  await new Promise<void>((resolve) => probe.close(() => resolve()))
})

function listening(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : 0)
    })
  })
}

test('knows everything it gave out, and serves none of it', async () => {
  const { sandbox, connect, refresh, call } = await visit({ rotateRefreshTokens: true })
  const tokens = await connect()
  await refresh(tokens.refresh_token)
  const issued = sandbox.issuedTokens()
  expect(issued).toContain(tokens.access_token)
  expect(issued).toContain(tokens.refresh_token)
  expect(issued).toHaveLength(5)
  for (const path of ['/', '/sandbox/accounts', '/sandbox/requests', '/sandbox/faults']) {
    const text = await (await call('GET', path)).text()
    for (const token of issued) expect(text).not.toContain(token)
  }
})

test('forgets long expired access tokens, and until then still calls them expired', async () => {
  const { connect, refresh, read, clock } = await visit({ tokenLifetimeMs: 20_000 })
  const tokens = await connect(HUB)
  const category = async () => {
    const body = (await (await read(CUSTOM_PROPERTIES, tokens.access_token)).json()) as { category: string }
    return body.category
  }
  clock.move(5 * 60_000)
  await refresh(tokens.refresh_token)
  expect(await category()).toBe('EXPIRED_AUTHENTICATION')
  clock.move(60 * 60_000)
  await refresh(tokens.refresh_token)
  expect(await category()).toBe('INVALID_AUTHENTICATION')
})
