import { expect, test } from 'vitest'
import type { Alert } from '../../src/alerts/alert.ts'
import { encodeEntry } from '../../src/alerts/outbox.ts'
import { anAlert } from '../alerts/an-alert.ts'
import { redisOfFile } from '../support/of-file.ts'
import { openServer } from './open-server.ts'

const redis = redisOfFile()
const HOUR = 3_600_000

async function opened() {
  const server = await openServer(redis)
  const { clock, keys, steps } = server
  const log = (hubId: number, hoursAgo: number, more: Partial<Alert> = {}) => {
    const measuredAt = new Date(clock.now() - hoursAgo * HOUR).toISOString()
    const account = { hubId, hubDomain: `n${hubId}.example.com` }
    const alert = anAlert({ account, measuredAt, ...more })
    return steps.xadd(keys.transitions, '*', 'alert', encodeEntry({ alert }))
  }
  return { ...server, log }
}

test('the page of a quiet time is one line; it is in the menu, with three times to choose from', async () => {
  const { get } = await opened()
  const { text, words, status } = await get('/changes')
  expect([status, words]).toEqual([
    200,
    expect.stringMatching(/Nothing changed since 20\d\d-\d\d-\d\d \d\d:\d\d UTC\./),
  ])
  expect(text).toContain('<a href="/changes" aria-current="page">Changes</a>')
  expect(text).toContain('<a href="/changes?since=24h" aria-current="true">')
  for (const since of ['7d', '90d']) expect(text).toContain(`href="/changes?since=${since}"`)
})

test('the page has what changed since the chosen time, by group, with links to the accounts', async () => {
  const { get, log, connectAccount } = await opened()
  const series = { metric: 'customProperties.objectType', objectTypeId: '2-7', label: '<b>Cars</b>' }
  await log(3, 30, { kind: 'token', level: 'critical', rule: 'token' })
  await log(1, 5, { series, usage: 960, limit: 1_000, percent: 96, level: 'critical', reason: 'escalated' })
  await log(2, 4, { series, usage: 700, limit: 1_000, percent: 70, reason: 'recovered', status: 'resolved' })
  await connectAccount({ hubId: 9, hubDomain: 'new.example.com' })
  const { text, words } = await get('/changes')
  expect(words).toMatch(
    /1 alert got worse, 1 alert resolved, 1 account connected since .*Worse .*n1\.example\.com \(1\).*warning → critical, 960 of 1,000.*Better .*n2\.example\.com \(2\).*warning → ok, 700 of 1,000.*Connected last: new\.example\.com \(9\)\./,
  )
  expect(text).toContain('<a href="/accounts/1">n1.example.com (1)</a>')
  expect(text).toContain('&lt;b&gt;Cars')
  expect(words).not.toContain('n3.example.com')
  expect((await get('/changes?since=7d')).words).toMatch(
    /1 account must reconnect,.*n3\.example\.com.*ok → must reconnect/,
  )
  expect((await get('/changes?since=1h')).words).toMatch(/ 1 account connected since /)
  expect((await get('/changes?since=x')).status).toBe(400)
})

test('changes of one account are one row: the worst, and how many more there are', async () => {
  const { get, log } = await opened()
  const series = (name: string) => ({ metric: 'customProperties.objectType', objectTypeId: '2-7', label: name })
  await log(1, 3, { series: { ...series('Boats'), objectTypeId: '2-8' }, percent: 85, usage: 850, limit: 1_000 })
  await log(2, 2, { series: series('Cars'), percent: 97, usage: 970, limit: 1_000 })
  await log(1, 1, { series: series('Cars'), percent: 99, usage: 990, limit: 1_000, level: 'critical' })
  await log(1, 1, { series: { metric: 'customProperties.overall' }, reason: 'recovered', status: 'resolved' })
  const { text, words } = await get('/changes')
  expect(text.match(/href="\/accounts\/1"/g)).toHaveLength(1)
  expect(words).toMatch(/n1\.example\.com \(1\) .*Cars.*ok → critical, 990 of 1,000, and 2 more changes.*n2\.example/)
  expect(words).not.toContain('Better')
})

test('of very many changes the page shows a part of each group, and says so', async () => {
  const { get, log } = await opened()
  for (let hubId = 1; hubId <= 60; hubId++) await log(hubId, 1)
  expect((await get('/changes')).words).toMatch(/60 alerts opened since .*Showing \d+ of \d+ changes\. Show all/)
})

test('the API gives the same by a moment or by how long ago, and counts what it leaves out', async () => {
  const { get, log, clock } = await opened()
  for (let hubId = 1; hubId <= 3; hubId++) await log(hubId, hubId, { percent: 90 + hubId })
  const { json } = await get('/api/v1/changes?since=24h&limit=2')
  const since = new Date(clock.now() - 24 * HOUR).toISOString()
  expect(json).toMatchObject({
    since,
    until: new Date(clock.now()).toISOString(),
    counts: { entered: 3, lost: 0 },
    leftOut: 1,
  })
  expect(json.items.map(({ account }: Alert) => account?.hubId)).toEqual([3, 2])
  expect(json.items[0]).toMatchObject({
    change: 'entered',
    from: 'ok',
    to: 'warning',
    times: 1,
    alert: { percent: 93 },
  })
  expect((await get(`/api/v1/changes?since=${since}`)).json.items).toHaveLength(3)
  expect(
    (await get(`/api/v1/changes?since=${new Date(clock.now() - 90 * 60_000).toISOString()}`)).json.items,
  ).toHaveLength(1)
  expect((await get('/api/v1/changes')).json.counts.entered).toBe(3)
  expect((await get('/api/v1/changes?since=yesterday')).json.errors).toEqual([
    {
      parameter: 'since',
      detail: 'must be a time like 2026-11-21T18:00 (in http.timeZone) or 2026-11-21T18:00:00Z, or how long ago: 24h',
    },
  ])
})

test('an entry of the log that can not be read takes neither the changes nor the transitions down', async () => {
  const { get, log, keys, steps } = await opened()
  await log(1, 1)
  await steps.xadd(keys.transitions, '*', 'alert', 'no JSON')
  for (const path of ['/api/v1/transitions', '/api/v1/changes']) {
    const { status, json } = await get(path)
    expect([path, status, json.items?.length]).toEqual([path, 200, 1])
  }
})
