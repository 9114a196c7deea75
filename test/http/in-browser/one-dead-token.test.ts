import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeState } from '../../../src/alerts/alert-state.ts'
import { axeFaults, type BrowserPages, LOOKS, openBrowserPages, screenshot } from '../../support/browser-pages.ts'
import { redisOfFile } from '../../support/of-file.ts'
import { ADMIN_TOKEN, openLastingServer, openState } from '../open-server.ts'

/** 25 accounts with 87 alerts about limits, most of them critical, and one that has lost its token. */
const DEAD = 1013
const HEIGHT = { desktop: 1_400, phone: 2_400 }

const redis = redisOfFile()
let pages: BrowserPages
let server: Awaited<ReturnType<typeof openLastingServer>>
beforeAll(async () => {
  server = await openLastingServer(redis)
  const { connectAccount, steps, keys, clock, deps } = server
  let alerts = 0
  for (let hubId = 1001; hubId <= 1025; hubId++) {
    await connectAccount({ hubId, hubDomain: `customer-${hubId}.example.com` })
    for (let type = 0; type < 4 && alerts < 87; type++, alerts++) {
      const said = { level: 'critical' as const, usage: 1_000 + type, limit: 1_000, at: clock.now() }
      const state = { ...openState(type === 3 ? 'warning' : 'critical', 'full', clock.now() - 60_000), said }
      await steps.hset(keys.account(hubId).alerts, `type/2-${type}`, encodeState(state))
    }
    await steps.sadd(keys.alerting, hubId)
  }
  const lost = openState('critical', 'token', clock.now() - 1_000)
  await steps.hset(keys.account(DEAD).alerts, 'token', encodeState(lost))
  await steps.hset(keys.account(DEAD).account, { state: 'reauthorize' })
  const { state } = keys
  await steps.zrem(state.active, DEAD)
  await steps.zadd(state.reauthorize, DEAD, DEAD)
  await deps.receiverStore.see(['ops-mail'], clock.now())
  pages = await openBrowserPages({ url: server.server.url, token: ADMIN_TOKEN })
})
afterAll(async () => {
  await pages?.close()
  await server?.close()
})

test('among 87 alerts about limits the one dead token is the first line of every list', async () => {
  const name = `customer-${DEAD}.example.com`
  const { page } = await pages.visit('/')
  const needed = page.locator('.needs-action li')
  expect(await needed.first().textContent()).toBe(`Reconnect ${name}: refresh token refused`)
  expect(await needed.first().locator('a').getAttribute('href')).toBe(`/accounts/${DEAD}`)
  expect(await needed.count()).toBeLessThanOrEqual(7)
  const visited = await pages.visit('/alerts')
  expect(await visited.page.locator('.by-account .name').first().textContent()).toBe(name)
  const line = visited.page.locator('.by-account summary').first()
  expect(await line.textContent()).toMatch(/^4 critical, 1 warning Customer must reconnect/)
  await line.click()
  await visited.page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  expect(await visited.page.getByRole('button', { name: 'Copy reconnect link' }).count()).toBe(1)
  await visited.page.getByRole('button', { name: `Copy reconnect link of ${name}` }).click()
  await visited.page.getByRole('button', { name: 'Copied' }).waitFor()
  const copied = new URL(String(await visited.page.evaluate('navigator.clipboard.readText()')))
  // It needs no sign-in: the customer opens it.
  expect((await server.ask('GET', copied.pathname + copied.search)).status).toBe(302)
  const accounts = await pages.visit('/accounts')
  expect(await accounts.page.locator('tbody tr a').first().textContent()).toBe(name)
  const status = await server.get('/api/v1/status')
  expect(status.json.alerts.worst[0]).toMatchObject({ hubId: DEAD, kind: 'token' })
  const { items } = (await server.get('/api/v1/alerts')).json
  expect(items).toHaveLength(88)
  expect(items[0]).toMatchObject({ hubId: DEAD, kind: 'token' })
})

test('the status page of 25 accounts and 88 alerts is read without scrolling for long', async () => {
  for (const look of LOOKS) {
    const { page, faults } = await pages.visit('/', look)
    expect(await page.evaluate('document.documentElement.scrollHeight')).toBeLessThanOrEqual(HEIGHT[look.device])
    expect([...faults, ...(await axeFaults(page))]).toEqual([])
    await screenshot(page, 'status of one dead token', look)
  }
})

test('an account that is ticked stands for its alerts in the list, not for those that the filter hides', async () => {
  const { page } = await pages.visit('/alerts?level=warning')
  await page.getByLabel(`All alerts of customer-${DEAD}.example.com`).check()
  await page.getByRole('button', { name: 'Acknowledge selected' }).click()
  await page.getByText('Acknowledged: no notification until it gets worse or the acknowledgement ends.').waitFor()
  const { items } = (await server.get(`/api/v1/alerts?hubId=${DEAD}`)).json
  const levels = items.filter((one: { acknowledged?: object }) => one.acknowledged !== undefined)
  expect(levels.map(({ level }: { level: string }) => level)).toEqual(['warning'])
})

test('accounts and alerts that are chosen are acknowledged, or silenced, in one go', async () => {
  const { page } = await pages.visit('/alerts')
  await page.getByLabel('All alerts of customer-1001.example.com').check()
  await page.getByLabel('All alerts of customer-1002.example.com').check()
  await page.getByRole('button', { name: 'Acknowledge selected' }).click()
  await page.getByText('Acknowledged: no notification until it gets worse or the acknowledgement ends.').waitFor()
  await pages.visit('/alerts?mark=acknowledged')
  expect(await page.locator('.by-account > li').count()).toBe(3)

  await pages.visit('/alerts')
  await page.getByLabel('All alerts of customer-1003.example.com').check()
  await page.locator('#account-1004 summary').click()
  await page.locator('#account-1004 input[name=alert]').first().check()
  await page.getByLabel('Comment').fill('moving')
  await page.getByRole('button', { name: 'Silence selected' }).click()
  await page.getByText('Silenced: no notification before the silence ends.').waitFor()
  const silences = await server.silences.active(server.clock.now())
  expect(silences.map(({ comment }) => comment)).toEqual(['moving', 'moving'])
  expect(silences.map(({ matchers }) => matchers.find(({ name }) => name === 'account')?.value).sort()).toEqual([
    '1003',
    '1004',
  ])

  await pages.visit('/alerts')
  await page.getByRole('button', { name: 'Acknowledge selected' }).click()
  await page.getByText('Nothing was chosen').waitFor()
})
