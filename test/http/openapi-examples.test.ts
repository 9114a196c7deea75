import { expect, test } from 'vitest'
import type { ApiRoute } from '../../src/http/api/route.ts'
import { API_ROUTES } from '../../src/http/api/serve-api.ts'
import { redisOfFile } from '../support/of-file.ts'
import { BEARER, JSON_BODY, openServer, openState, readings } from './open-server.ts'

const redis = redisOfFile()

/** Two accounts, of one a critical series, a silence, and a delivery that was given up. */
async function seeded() {
  const tested = { outcome: { outcome: 'retry', reason: 'no answer', answer: 503 }, ms: 4, fix: 'try again' } as const
  const server = await openServer(redis, {
    actions: { testReceiver: async () => ({ ...tested, noted: 'recorded' }) },
  })
  const { clock, connectAccount, poll, steps, keys, deps } = server
  const now = clock.now()
  await connectAccount({ hubId: 1234567, hubDomain: 'acme.example.com', user: 'ann@example.com' })
  await connectAccount({ hubId: 7654321, hubDomain: 'globex.example.com' })
  const full = openState('critical', 'full', now)
  const shown = { '0-1/0-2': { at: now, atLimit: [{ objectId: 31, label: 'Ann' }], nearLimit: [] } }
  await poll(1234567, readings(now, 960), { overall: full }, shown)
  const silence = { matchers: [['kind', 'token']], author: 'ann', comment: 'x', createdAt: now, endsAt: now + 60_000 }
  await steps.hset(keys.delivery.silences, 's-4k7mp', JSON.stringify(silence))
  await deps.receiverStore.see(['ops-hook'], now)
  const attempt = { at: now, id: 'd1', receiver: 'ops-hook', type: 'alert.firing', attempt: 1, outcome: 'retry' }
  await steps.xadd(keys.delivery.log, '*', ...Object.entries({ ...attempt, reason: 'no' }).flat())
  clock.move(60_000)
  return server
}

function addressOf({ path, example: { params = {}, query = {} } }: ApiRoute): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => params[name] ?? `no example of ${name}`)
  return `/api/v1${filled}${Object.keys(query).length === 0 ? '' : `?${new URLSearchParams(query)}`}`
}

test.each(API_ROUTES.map((route) => [route.id, route] as const))('the example of %s works', async (_id, route) => {
  const { ask } = await seeded()
  const body = route.example.body && JSON.stringify(route.example.body)
  // node leaves the length of what a DELETE carries to whoever sends it.
  const length = { 'content-length': String(Buffer.byteLength(body ?? '')) }
  const headers = body === undefined ? BEARER : { ...BEARER, ...JSON_BODY, ...length }
  const answer = await ask(route.method, addressOf(route), headers, body)
  expect(Object.keys(route.answers), answer.text).toContain(String(answer.status))
  const { items } = answer.json
  const mayBeEmpty = ['listTransitions'].includes(route.id)
  if (items !== undefined && !mayBeEmpty) expect(items.length).toBeGreaterThan(0)
})

test('what a body may not have is refused by name, with the way it should be', async () => {
  const { ask } = await seeded()
  const post = (path: string, body: string, type = 'application/json') =>
    ask('POST', `/api/v1${path}`, { ...BEARER, 'content-type': type }, body)
  expect((await post('/deliveries/replay', '{"since":"yesterday","reciever":"x"}')).json).toMatchObject({
    type: 'urn:plimsoll:problem:invalid-request',
    errors: [
      { parameter: 'since', detail: 'must be a time like 2026-11-21T10:00:00Z, or milliseconds since 1970' },
      { parameter: 'reciever', detail: 'is not known here' },
    ],
  })
  expect((await post('/deliveries/replay', '{"since":"2031-01-01"}')).json.errors).toEqual([
    { parameter: 'since', detail: 'lies in the future' },
  ])
  expect((await post('/receivers/ops-hook/test', '{', 'application/json')).json).toMatchObject({ status: 400 })
})
