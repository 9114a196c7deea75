import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { connectAll, eventually, send } from '../support/fleet.ts'
import { sceneFor } from '../support/scene.ts'

const ADMIN_TOKEN = 'an-admin-token-for-tests'
const [MANY, LONG, CHANGING] = [901, 902, 903]
const PAIR = 'associations/0-1/0-2'
/** What an account of 500 object types with names of a usual length takes is a tenth of it. */
const MOST_BYTES = 100_000

const type = (objectTypeId: string, label = '') => ({
  objectTypeId,
  singularLabel: label,
  pluralLabel: label,
  limit: 9,
  usage: 1,
  percentage: 11,
})
const report = (types: object[]) => ({ overallLimit: 9, overallUsage: 1, overallPercentage: 11, byObjectType: types })
const typesOf = (from: number, count: number) => Array.from({ length: count }, (_, n) => type(`2-${from + n}`))
/** Ten thousand characters that no compressing makes shorter. */
const long = (n: number) =>
  `\u00e9${createHash('shake256', { outputLength: 7_500 }).update(String(n)).digest('base64')}`
const record = (n: number) => ({ label: long(n), objectId: n, percentage: 85, usage: n === 90 ? 89 : 85 })

test('however much is reported of one account, what is kept of it has a bound, and the log a line', async (context) => {
  const scene = await sceneFor(context, { accounts: 1, tokenLifetimeMs: 600_000 })
  const tell = async (hubId: number, what: string, body: object) => {
    const { status } = await send(`${scene.sandbox.url}/sandbox/accounts/${hubId}/${what}`, 'PUT', body)
    expect(status).toBe(204)
  }
  for (const hubId of [MANY, LONG, CHANGING]) {
    await send(`${scene.sandbox.url}/sandbox/accounts`, 'POST', { hubId, hubDomain: `${hubId}-${'d'.repeat(5_000)}` })
  }
  const many = typesOf(0, 20_000)
  await tell(MANY, 'custom-properties', report(many))
  const labels = Array.from({ length: 40 }, (_, n) => type(`2-${n}`, long(n)))
  await tell(LONG, 'custom-properties', report([...labels, ...Array.from({ length: 40 }, (_, n) => type(long(n)))]))
  await tell(LONG, PAIR, {
    limit: 100,
    totalRecordsAtLimit: 0,
    totalRecordsNearLimit: 90,
    atLimitFromRecordSamples: [],
    nearLimitFromRecordSamples: Array.from({ length: 90 }, (_, n) => record(n + 1)),
  })
  await tell(CHANGING, 'custom-properties', report(typesOf(0, 10)))

  const daemon = await scene.daemon({ http: { adminToken: ADMIN_TOKEN }, limits: { every: '1s' } })
  await connectAll(daemon.url, [MANY, LONG, CHANGING])
  const accountOf = async (hubId: number) => {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
    const answer = await fetch(`${daemon.url}/api/v1/accounts/${hubId}`, { headers })
    return (await answer.json()) as { polledAt: string | null; objectTypesLeftOut: number; series: { id: string }[] }
  }
  /** As the second poll from now on leaves it: the first one may be under way. */
  const polled = async (hubId: number) => {
    const seen = new Set<string>()
    return eventually(`account ${hubId} polled`, async () => {
      const account = await accountOf(hubId)
      if (account.polledAt !== null) seen.add(account.polledAt)
      return seen.size > 2 && account
    })
  }
  const store = scene.redis.connect()
  const bytesOf = async (hubId: number) => {
    let bytes = 0
    for (const key of await store.keys(`*:${hubId}`)) bytes += Number(await store.call('MEMORY', 'USAGE', key))
    return bytes
  }
  const logged = (hubId: number, code: string) =>
    daemon.lines
      .filter((line) => line.includes(`"${code}`))
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter((line) => line.hubId === hubId)

  const first = await polled(MANY)
  expect(await bytesOf(MANY)).toBeLessThan(MOST_BYTES)
  expect(first.series.filter(({ id }) => id.startsWith('type/'))).toHaveLength(500)
  expect(first.objectTypesLeftOut).toBe(19_500)
  // Those that are kept are the same, in whatever order they come, and whichever is nearest to its limit.
  await tell(MANY, 'custom-properties', report(many.toReversed().map((one, n) => ({ ...one, usage: n % 2 }))))
  const other = await polled(MANY)
  expect(new Set(other.series.map(({ id }) => id))).toEqual(new Set(first.series.map(({ id }) => id)))
  expect(logged(MANY, 'poll.types-')).toMatchObject([{ level: 'warn', kept: 500, leftOut: 19_500 }])

  const wordy = await polled(LONG)
  expect(await bytesOf(LONG)).toBeLessThan(MOST_BYTES)
  expect(wordy.series.filter(({ id }) => id.startsWith('type/'))).toHaveLength(40)
  expect(wordy).toMatchObject({ objectTypesLeftOut: 40 })
  expect(logged(LONG, 'poll.types-')).toHaveLength(1)

  await polled(CHANGING)
  await tell(CHANGING, 'custom-properties', report(typesOf(0, 310)))
  await polled(CHANGING)
  await tell(CHANGING, 'custom-properties', report(typesOf(0, 10)))
  expect(await polled(CHANGING)).toMatchObject({ objectTypesLeftOut: 0 })
})
