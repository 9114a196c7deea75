import { describe, expect, test } from 'vitest'
import { connectAccount, connectAll, eventually, getJson, hubIdsOf, journalOf, send } from '../support/fleet.ts'
import { say } from '../support/say.ts'
import { type Scene, sceneFor } from '../support/scene.ts'

describe('forged', () => {
  const PAUSE_MS = 15_000
  const FORGED = 100

  /** What a stranger can do: begin as many installs as they like, and come back with codes of their own. */
  async function forgedCallback(daemonUrl: string, n: number, forwardedFor?: string) {
    const page = await eventually('an install that begins', async () => {
      const { headers } = await fetch(`${daemonUrl}/install`, { redirect: 'manual' })
      return headers.get('location') ?? undefined
    })
    const state = new URL(page).searchParams.get('state') ?? ''
    const headers = forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor }
    const answer = await fetch(`${daemonUrl}/oauth/callback?code=forged-${n}&state=${state}`, { headers })
    return { status: answer.status, retryAfter: Number(answer.headers.get('retry-after')), at: Date.now() }
  }

  const flood = (daemonUrl: string, from?: (n: number) => string) =>
    Promise.all(Array.from({ length: FORGED }, (_, n) => forgedCallback(daemonUrl, n, from?.(n))))

  const statusesOf = (answers: { status: number }[]) => [...new Set(answers.map(({ status }) => status))].sort()

  const tokenCalls = async (scene: Scene) =>
    (await journalOf(scene.sandbox.url)).filter(({ endpoint }) => endpoint === 'token')

  test.concurrent('100 forged callbacks during a pause reach nobody before it is over, and hold up no refresh after it', async (context) => {
    const scene = await sceneFor(context, { accounts: 20, tokenLifetimeMs: 60_000, rotateRefreshTokens: false })
    const daemon = await scene.daemon()
    const hubIds = await hubIdsOf(scene.sandbox.url)
    await connectAll(daemon.url, hubIds)

    const headers = { 'Retry-After': PAUSE_MS / 1_000 }
    await send(`${scene.sandbox.url}/sandbox/faults`, 'POST', { endpoint: 'token', status: 429, headers, times: 1 })
    await daemon.line(/"endpoint\.429"/, 0)
    const paused = await tokenCalls(scene)
    const until = Date.parse(paused.find(({ status }) => status === 429)?.time ?? '') + PAUSE_MS
    const during = (await flood(daemon.url)).filter(({ at }) => at < until)
    const meanwhile = (await tokenCalls(scene)).slice(paused.length).filter(({ time }) => Date.parse(time) < until)
    say(
      `${during.length} of ${FORGED} forged callbacks were answered in a pause: ${meanwhile.length} calls; answered ${statusesOf(during)}`,
    )
    expect(meanwhile).toEqual([])
    expect(statusesOf(during)).toEqual([503])
    expect(Math.min(...during.map(({ retryAfter }) => retryAfter))).toBeGreaterThan(0)

    // From as many addresses: now nothing but their share of the door is between them and the provider.
    await eventually('the end of the pause', async () => Date.now() > until)
    const after = await flood(daemon.url, (n) => `203.0.113.${n}`)
    const refreshes = await eventually('a refresh of every account', async () => {
      const worked = (await tokenCalls(scene)).filter(
        ({ status, grant }) => status === 200 && grant === 'refresh_token',
      )
      return new Set(worked.map(({ hubId }) => hubId)).size === hubIds.length && worked
    })
    const end = Math.max(...refreshes.map(({ time }) => Date.parse(time)))
    const journal = await journalOf(scene.sandbox.url)
    const calls = journal.filter(({ endpoint, time }) => endpoint === 'token' && Date.parse(time) >= until)
    const codes = calls.filter(({ grant }) => grant === 'authorization_code')
    say(`after it: ${calls.length} token calls, ${codes.length} of them for codes; answered ${statusesOf(after)}`)
    expect(codes.length).toBeLessThan(FORGED / 2)
    expect(Math.min(...calls.map(({ time }) => Date.parse(time)))).toBeGreaterThanOrEqual(until)
    expect(end).toBeGreaterThan(until)
    // No token expired: a poll would have been refused.
    expect(journal.filter(({ status }) => status === 401)).toEqual([])
    // Nor does anybody take it for a trouble of the fleet: a customer is let in.
    expect(daemon.lines.filter((line) => /"endpoint\.open"/.test(line))).toEqual([])
    await eventually('a customer who comes now', async () => {
      const { status } = await connectAccount(daemon.url, hubIds[0] as number)
      return status === 200
    })
  })
})

describe('parked', () => {
  test('an install whose metadata fails survives kill -9 of the daemon, and is finished by the next one', async (context) => {
    const scene = await sceneFor(context, { accounts: 1 })
    const [hubId = 0] = await hubIdsOf(scene.sandbox.url)
    // The token answers of the dated versions name the account themselves.
    const settings = { provider: { api: 'v1' } }
    const daemon = await scene.daemon(settings)
    await send(`${scene.sandbox.url}/sandbox/faults`, 'POST', { endpoint: 'metadata', status: 404 })
    const answer = await connectAccount(daemon.url, hubId)
    const page = await answer.text()
    await daemon.kill()
    expect([answer.status, page]).toEqual([202, expect.stringContaining('Almost connected')])
    expect(daemon.lines.join('\n')).toMatch(/"install.parked".*the provider answered 404/)

    await send(`${scene.sandbox.url}/sandbox/faults`, 'DELETE')
    const next = await scene.daemon(settings)
    const account = await eventually(
      'the account',
      async () =>
        getJson<{ state: string; polledAt: string | null }>(`${next.url}/api/v1/accounts/${hubId}`).catch(
          () => false as const,
        ),
      90_000,
    )
    expect(account).toMatchObject({ state: 'active' })
  })
})
