import { describe, expect, onTestFinished, test } from 'vitest'
import { beginUninstall, type FailedAttempt, uninstallAfterRefusal } from '../../src/accounts/uninstall.ts'
import { Secret } from '../../src/runtime/secret.ts'
import type { Fault } from '../../src/sandbox/faults.ts'
import { connectClient } from '../provider/connect-client.ts'
import { CLIENT, visit } from '../sandbox/visit.ts'
import { failure } from '../support/fake-provider.ts'
import { uninstallNow } from '../support/uninstall-now.ts'
import { HUB, worldOfFile } from '../support/world.ts'

const world = worldOfFile()

/** An account that is being uninstalled, its refresh token alive at a provider that answers its deletion so. */
async function uninstalling(...faults: Omit<Fault, 'endpoint'>[]) {
  const { sandbox, connect, refresh, call } = await visit()
  const { refresh_token: refreshToken } = await connect()
  for (const fault of faults) await call('POST', '/sandbox/faults', { endpoint: 'delete', ...fault })
  const app = { clientId: CLIENT.client_id, clientSecrets: [new Secret(CLIENT.client_secret)] }
  // Short only where an answer is to be missed: beside others even a good one may take longer.
  const timeoutMs = faults.some(({ delayMs }) => delayMs !== undefined) ? 300 : 10_000
  const client = connectClient(sandbox.url, { ...app, timeoutMs })
  onTestFinished(() => client.close())
  const w = await world({ provider: { deleteRefreshToken: (token) => client.deleteRefreshToken(token) } })
  const account = await w.account({ refreshToken })
  await beginUninstall(w.services, HUB, { by: 'api', reason: 'left' })
  return {
    clock: w.clock,
    call,
    run: () => uninstallNow(w.services, HUB),
    dueAt: () => account.dueAt('uninstall'),
    record: async () => (await account.read()).uninstall,
    /** What the provider says of the refresh token now. */
    tokenStatus: async () => (await refresh(refreshToken)).status,
  }
}

describe('what the provider answers to the deletion', () => {
  test('204 is the proof', async () => {
    const one = await uninstalling()
    expect(await one.run()).toEqual({ is: 'finished' })
    expect(await one.record()).toMatchObject({ attempts: 1, ending: 'deleted', at: one.clock.now() })
    expect(await one.tokenStatus()).toBe(400)
  })

  test.each<[string, Omit<Fault, 'endpoint'>]>([
    ['404', { status: 404 }],
    ['a refused token', { status: 400, body: { status: 'BAD_REFRESH_TOKEN', message: 'refused' } }],
  ])('%s says that it was gone', async (_, fault) => {
    const one = await uninstalling(fault)
    expect(await one.run()).toEqual({ is: 'finished' })
    expect(await one.record()).toMatchObject({ attempts: 1, ending: 'was-gone' })
  })

  test.each<[string, Omit<Fault, 'endpoint'>, RegExp, number]>([
    ['500', { status: 500 }, /500/, 2_000],
    ['429 with Retry-After', { status: 429, headers: { 'Retry-After': '17' } }, /429/, 17_000],
    ['no answer in time', { delayMs: 5_000 }, /within 0.3 s/, 2_000],
    ['a connection that breaks', { drop: true }, /./, 2_000],
    ['401', { status: 401 }, /401/, 2_000],
    ['403', { status: 403 }, /403/, 2_000],
    ['a refused app', { status: 400, body: { status: 'BAD_CLIENT_SECRET', message: 'the app' } }, /./, 2_000],
  ])('%s proves nothing: it is tried again, and the story says why', async (_, fault, reason, waitMs) => {
    const one = await uninstalling({ ...fault, times: 1 })
    expect(await one.run()).toMatchObject({ is: 'failed' })
    expect(await one.dueAt()).toBe(one.clock.now() + waitMs)
    const failedAt = one.clock.now()
    expect(await one.record()).toMatchObject({
      attempts: 1,
      failure: expect.stringMatching(reason),
      failureAt: failedAt,
      ending: null,
      at: null,
    })
    expect(await one.tokenStatus()).toBe(200)
    one.clock.move(waitMs)
    expect(await one.run()).toEqual({ is: 'finished' })
    expect(await one.record()).toMatchObject({ attempts: 2, ending: 'deleted', failureAt: failedAt })
    expect(await one.tokenStatus()).toBe(400)
  })

  test('a deletion whose answer was lost is found to be done', async () => {
    const one = await uninstalling({ after: true, drop: true, times: 1 })
    expect(await one.run()).toMatchObject({ is: 'failed' })
    expect(await one.tokenStatus()).toBe(400)
    expect(await one.run()).toEqual({ is: 'finished' })
    expect(await one.record()).toMatchObject({ attempts: 2, ending: 'was-gone' })
  })
})

const DAY = 86_400_000
const SINCE = Date.parse('2026-10-01T08:00:00.000Z')
const NOW = SINCE + 30 * DAY

const refused: FailedAttempt = {
  state: 'reauthorize',
  alerted: false,
  rejectedAt: SINCE,
  failure: failure('rejected').failure,
}

describe('a refresh token that is refused again', () => {
  test('after long enough is an uninstall, and says since when', () => {
    const request = { by: 'evidence', reason: 'refresh token refused since 2026-10-01', refusedSince: SINCE }
    expect(uninstallAfterRefusal(refused, 30 * DAY, NOW)).toEqual(request)
  })

  test.each<[string, Partial<FailedAttempt>, number | 'never']>([
    ['is none a moment too early', {}, 30 * DAY + 1],
    ['is none where the config says never', {}, 'never'],
    ['is none in the moment that finds it out', { alerted: true }, 30 * DAY],
    ['is none while it is not confirmed', { state: 'failing' }, 30 * DAY],
    ['is none where it was never refused', { rejectedAt: null }, 30 * DAY],
    ['is none when the provider only does not answer', { failure: failure('transient').failure }, 30 * DAY],
    ['is none when the app is refused', { failure: failure('client').failure }, 30 * DAY],
    ['is none when the account is to be left alone', { failure: failure('parked').failure }, 30 * DAY],
  ])('%s', (_, change, after) => {
    expect(uninstallAfterRefusal({ ...refused, ...change }, after, NOW)).toBeUndefined()
  })
})
