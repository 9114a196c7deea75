import { expect, test } from 'vitest'
import type { AlertSettings } from '../../src/alerts/evaluation/decide.ts'
import { redisOfFile } from '../support/of-file.ts'
import { pollAndTell } from '../support/polled-account.ts'
import { openServer, openState, readings } from './open-server.ts'

const redis = redisOfFile()

const RULES: AlertSettings = {
  rules: [{ name: 'full', on: 'customProperties.overall', warning: { percent: 80 } }],
  recoverBelow: 3,
  for: 0,
  repeatEveryMs: 86_400_000,
  firstRun: 'alert',
  pageOf: () => '',
}

interface Told {
  alert: { account: { hubId: number } }
}

interface Page<T> {
  items: T[]
  next?: string
}

/** Each page of a list; `between` happens after the first. */
async function pages<T>(
  get: (path: string) => Promise<{ status: number; json: Page<T> }>,
  path: string,
  between = async () => {},
): Promise<T[][]> {
  const found: T[][] = []
  for (let after = ''; ; ) {
    const { json } = await get(`/api/v1/${path}${after}`)
    found.push(json.items)
    if (found.length === 1) await between()
    if (json.next === undefined) return found
    after = `&after=${encodeURIComponent(json.next)}`
  }
}

async function withTransitions() {
  const server = await openServer(redis)
  const tell = async (hubId: number, usage: number) =>
    pollAndTell(server.steps, server.keys, RULES, hubId, server.clock.now(), readings(server.clock.now(), usage))
  for (const hubId of [1, 2, 3, 4, 5]) {
    await server.connectAccount({ hubId })
    await tell(hubId, 900)
    // Two of one moment, too.
    if (hubId !== 3) server.clock.move(60_000)
  }
  const idsOf = (found: Told[][]) => found.map((page) => page.map(({ alert }) => alert.account.hubId))
  return { ...server, tell, idsOf }
}

test('transitions come oldest first, each once, and what comes meanwhile comes at the end', async () => {
  const { get, tell, idsOf, clock } = await withTransitions()
  const found = await pages<Told>(get, 'transitions?limit=2', async () => {
    clock.move(60_000)
    await tell(1, 100)
  })
  expect(idsOf(found).flat().toSorted()).toEqual([1, 1, 2, 3, 4, 5])
  expect(idsOf(found).flat().at(-1)).toBe(1)
  expect(found.map(({ length }) => length)).toEqual([2, 2, 2])
})

test('transitions are of an account, of a level, since a moment', async () => {
  const { get, idsOf, clock } = await withTransitions()
  const of = async (query: string) => idsOf(await pages<Told>(get, `transitions?${query}`)).flat()
  expect(await of('hubId=2')).toEqual([2])
  expect(await of('level=critical')).toEqual([])
  expect(await of(`since=${new Date(clock.now() - 90_000).toISOString()}`)).toEqual([5])
  expect((await get('/api/v1/transitions?limit=1')).json.items[0]).toMatchObject({
    at: '2026-11-21T10:00:00.000Z',
    fate: 'pending',
    transition: expect.stringMatching(/^\d+-\d+$/),
    alert: { kind: 'limit', reason: 'entered', usage: 900 },
  })
})

test('silences come in the order of their ends, each once, also those of one end', async () => {
  const { get, silences, clock } = await openServer(redis)
  const now = clock.now()
  const make = (endsAt: number) =>
    silences.add({ matchers: [{ name: 'kind', value: '*' }], author: 'ann', comment: 'x', createdAt: now, endsAt })
  const made = await Promise.all([9, 5, 5, 7, 5].map((minutes) => make(now + minutes * 60_000)))
  const found = await pages<{ id: string; endsAt: string }>(get, 'silences?limit=2', async () => {
    await make(now + 8 * 60_000)
    await make(now + 1_000)
  })
  expect(found.map(({ length }) => length)).toEqual([2, 2, 2])
  const all = found.flat()
  expect(all.map(({ endsAt }) => endsAt)).toEqual(all.map(({ endsAt }) => endsAt).toSorted())
  expect(new Set(all.map(({ id }) => id)).size).toBe(6)
  for (const { id } of made) expect(all.map((one) => one.id)).toContain(id)
})

test('attempts to deliver come newest first, and new ones move no page', async () => {
  const { get, steps, keys } = await openServer(redis)
  const attempt = (n: number) => steps.xadd(keys.delivery.log, '*', 'at', n, 'id', `d${n}`, 'attempt', 1)
  for (let n = 1; n <= 5; n++) await attempt(n)
  const found = await pages<{ id: string }>(get, 'deliveries?limit=2', async () => void (await attempt(6)))
  expect(found.map((page) => page.map(({ id }) => id))).toEqual([['d5', 'd4'], ['d3', 'd2'], ['d1']])
})

test('accounts come by hub id, alerts by account, the worst first, snapshots oldest first', async () => {
  const { get, connectAccount, poll, clock } = await openServer(redis)
  const now = clock.now()
  for (const [hubId, level] of [
    [1, 'warning'],
    [2, 'critical'],
    [70, 'warning'],
  ] as const) {
    await connectAccount({ hubId })
    await poll(hubId, readings(now, 900), { overall: openState(level, 'a rule', now) })
  }
  const hubIds = async (path: string) =>
    (await pages<{ hubId: number }>(get, path)).map((page) => page.map(({ hubId }) => hubId))
  expect(await hubIds('accounts?limit=2')).toEqual([[1, 2], [70]])
  expect(await hubIds('accounts?limit=3')).toEqual([[1, 2, 70]])
  expect(await hubIds('alerts?limit=2')).toEqual([[2, 1], [70]])
  for (const usage of [200, 300]) {
    clock.move(1_800_000)
    await poll(1, readings(clock.now(), usage))
  }
  const snapshots = await pages<{ series: { usage: number }[] }>(get, 'accounts/1/snapshots?limit=2')
  expect(snapshots.map((page) => page.map(({ series }) => series[0]?.usage))).toEqual([[900, 200], [300]])
})
