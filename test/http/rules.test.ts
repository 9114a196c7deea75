import { expect, test } from 'vitest'
import { redisOfFile } from '../support/of-file.ts'
import { openServer } from './open-server.ts'

const redis = redisOfFile()
const MAIL = { type: 'email', smtp: 'smtps://mail.example.com', from: 'a@example.com', to: ['b@example.com'] }
const SETTINGS = {
  tags: { vip: [1] },
  thresholds: [
    { name: 'sum', on: 'customProperties.overall', warning: { percent: 80 }, critical: { remaining: 10 } },
    { on: 'customProperties.objectType', match: { objectType: ['2-*'] }, warning: { percent: 90 } },
    { on: 'pipelines.*', match: { tag: ['vip'] }, critical: { percent: 100 } },
  ],
  receivers: { 'ops-mail': MAIL, 'on-call': MAIL, night: MAIL },
  routes: [
    { match: { rule: ['sum'], level: ['critical'] }, to: ['on-call', 'ops-mail'] },
    { match: { tag: ['vip'] }, to: ['night'], quiet: [{ from: '22:00', to: '06:00', timeZone: 'Europe/Berlin' }] },
    { match: { kind: ['limit', 'token'] }, to: ['ops-mail'] },
  ],
}

test('the rules page has every threshold and every route in force, in their order', async () => {
  const { get } = await openServer(redis, { settings: SETTINGS })
  const { words } = await get('/rules')
  expect(words).toMatch(/custom properties warning from 80 %, critical from 10 left sum /)
  expect(words).toMatch(/custom properties, object types 2-\* warning from 90 % /)
  expect(words).toMatch(
    /1 level critical, rule sum on-call, ops-mail none 2 tag vip night 22:00 to 06:00 Europe\/Berlin/,
  )
  const { json } = await get('/api/v1/rules')
  expect(json.rules.map(({ name }: { name: string }) => name)).toEqual([
    'sum',
    'customProperties.objectType',
    'pipelines.*',
  ])
  expect(json.routes[2]).toEqual({ match: 'kind limit or token', to: ['ops-mail'], quiet: [] })
})

test('an account shows who gets its alerts by level, and what no route is for', async () => {
  const { get, connectAccount } = await openServer(redis, { settings: SETTINGS })
  await connectAccount({ hubId: 1 })
  await connectAccount({ hubId: 2 })
  const notified = async (hubId: number) => (await get(`/api/v1/accounts/${hubId}`)).json.notified
  const sum = { level: 'critical', about: ['sum'], receivers: ['on-call', 'ops-mail'] }
  expect(await notified(1)).toEqual([
    sum,
    { level: 'critical', about: ['pipelines, tags vip', 'tokens', 'polls'], receivers: ['night'] },
    { level: 'warning', about: ['limits', 'tokens', 'polls'], receivers: ['night'] },
  ])
  expect(await notified(2)).toEqual([
    { ...sum, about: ['limits'] },
    { level: 'critical', about: ['tokens'], receivers: ['ops-mail'] },
    { level: 'critical', about: ['polls'], receivers: [] },
    { level: 'warning', about: ['limits', 'tokens'], receivers: ['ops-mail'] },
    { level: 'warning', about: ['polls'], receivers: [] },
  ])
  expect((await get('/accounts/2')).words).toContain('warning polls no receiver: no route is for these')
})
