import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { encodeState } from '../../../src/alerts/alert-state.ts'
import {
  axeFaults,
  type BrowserPages,
  LOOKS,
  openBrowserPages,
  screenshot,
  sidewaysScroll,
} from '../../support/browser-pages.ts'
import { startRedis, type TestRedis } from '../../support/redis-server.ts'
import { ADMIN_TOKEN, openLastingServer, openState } from '../open-server.ts'
import { connectRichAccount } from './rich-account.ts'

const PATHS = {
  account: '/accounts/4711?range=30d',
  'a year of it': '/accounts/4711?range=1y',
  'a series': '/accounts/4711/series?id=overall&range=30d',
  'a series whose limit moved': '/accounts/4711/series?id=type%2F0-2&range=30d',
  'an account that was never read': '/accounts/4712',
}

/** As a config would have them. */
const explain = {
  rules: [
    { name: 'sum', on: 'customProperties.overall', warning: { percent: 80 }, critical: { percent: 95, daysLeft: 7 } },
    { name: 'types', on: 'customProperties.objectType', warning: { remaining: 20 }, critical: { remaining: 5 } },
    { name: 'full records', on: 'associations.atLimit', warning: { count: 1 }, critical: { count: 50 } },
    { name: 'records', on: 'associations.*', warning: { percent: 90 } },
  ],
  ...{ recoverBelow: 3, for: 0, repeatEveryMs: 86_400_000, firstRun: 'digest' as const, alertAfter: 3 },
  routes: [{ to: ['ops-mail'] }],
  group: { by: ['rule' as const], waitMs: 30_000, intervalMs: 300_000, max: 200 },
}

let redis: TestRedis
let pages: BrowserPages
let server: Awaited<ReturnType<typeof openLastingServer>>
beforeAll(async () => {
  redis = await startRedis()
  server = await openLastingServer(redis, { explain })
  await connectRichAccount(server, 4711)
  const { steps, keys, clock } = server
  const open = openState('critical', 'full', clock.now() - 86_400_000)
  await steps.hset(keys.account(4711).alerts, 'overall', encodeState(open))
  await server.connectAccount({ hubId: 4712 })
  pages = await openBrowserPages({ url: server.server.url, token: ADMIN_TOKEN })
})
afterAll(async () => {
  await pages.close()
  await server.server.close(1_000)
  await redis.stop()
})

describe.each(LOOKS)('on a $device, $colorScheme', (look) => {
  test.each(Object.entries(PATHS))('%s is readable and without a fault', async (name, path) => {
    const { page, faults, status } = await pages.visit(path, look)
    expect(status).toBe(200)
    await screenshot(page, name, look)
    expect(faults).toEqual([])
    expect(await axeFaults(page)).toEqual([])
    expect(await sidewaysScroll(page)).toBe(0)
  })
})
