import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { Alert, AlertLevel } from '../../src/alerts/alert.ts'
import { openedState, type SeriesState } from '../../src/alerts/alert-state.ts'
import { alertTitle } from '../../src/alerts/alert-title.ts'
import { daysLeftOf } from '../../src/alerts/evaluation/decide.ts'
import { openAlertMessages, readAlertedAccounts } from '../../src/alerts/open-alert-message.ts'
import type { OpenAlert } from '../../src/alerts/open-alerts.ts'
import { limitText } from '../../src/alerts/series-name.ts'
import { renderEmail } from '../../src/delivery/receivers/email/send-email.ts'
import { slackBody } from '../../src/delivery/receivers/slack/slack.ts'
import { outlookOf } from '../../src/limits/forecast/outlook.ts'
import { type AccountForecasts, storeForecasts } from '../../src/limits/forecast/stored-forecasts.ts'
import { seriesById } from '../../src/limits/series.ts'
import type { AccountState } from '../../src/redis/keys.ts'
import { daysLeftText, formatCount, formatDistance, formatPercent, formatSpan } from '../../src/text/format-number.ts'
import { alertCountsText } from '../../src/views/alert-texts.ts'
import type { AlertCounts } from '../../src/views/find-alerts.ts'
import { STATE_NAMES } from '../../src/views/judge-account.ts'
import { openServer, readings, wordsOf } from '../http/open-server.ts'
import { plimsollHere } from '../support/command.ts'
import { chance } from '../support/dice.ts'
import { redisOfFile } from '../support/of-file.ts'
import { runs } from '../support/runs.ts'

const FLEETS = runs(20, 200)
const HUB_IDS = [1, 2, 3] as const
const MINUTE = 60_000
const DAY = 86_400_000
const STATES: readonly AccountState[] = ['active', 'active', 'failing', 'parked', 'reauthorize']

const redis = redisOfFile()
const folder = mkdtempSync(join(tmpdir(), 'plimsoll-one-value-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

type World = Awaited<ReturnType<typeof openServer>>
/** 0 to 1, the same in every run. */
type Dice = () => number

/** Three accounts, each read just now, with a pace and up to five alerts as the last message left them. */
async function seed({ poll, clock, steps, keys }: World, dice: Dice): Promise<void> {
  clock.move(Math.ceil(dice() * 3_000) * MINUTE)
  const now = clock.now()
  const before = (most: number) => now - Math.floor(dice() ** 3 * most)
  const level = (): AlertLevel => (dice() < 0.5 ? 'warning' : 'critical')
  for (const hubId of HUB_IDS) {
    const [atLimit, nearLimit] = [Math.floor(dice() * 3), Math.floor(dice() * 30)]
    const usage = dice() < 0.2 ? 999 + Math.floor(dice() * 3) : Math.floor(dice() * 1_200)
    const fullest = Math.floor(dice() * 101)
    const read = readings(now, usage, { pair: { atLimit, nearLimit, fullest } })
    // As exactly as it is stored.
    const perDay = Math.ceil(dice() * 2_000) / 100
    const pace = { perDay, perDayLow: perDay / 2, perDayHigh: perDay * 2, leap: 0, bend: 0 }
    const forecasts: AccountForecasts = { at: now, rising: { overall: pace, 'type/0-1': pace }, tooFew: {} }
    const states: Record<string, SeriesState> = {}
    for (const [field, series] of seriesById(read)) {
      if (dice() < 0.5) continue
      const outlook = daysLeftOf(outlookOf(series, forecasts, now))
      const said = {
        level: level(),
        usage: series.usage,
        limit: series.limit ?? 0,
        at: now,
        daysLeft: outlook.daysLeft,
      }
      states[field] = {
        ...openedState(said.level, 'full', before(90 * DAY)),
        lastSent: said as SeriesState['lastSent'],
      }
    }
    if (dice() < 0.3) states.token = openedState(level(), 'token', before(3 * DAY))
    if (dice() < 0.2) states.poll = { ...openedState('warning', 'poll', before(DAY)), cause: 'failing' }
    await steps.del(keys.account(hubId).alerts)
    await steps.hset(keys.account(hubId).account, 'state', 'active')
    await poll(hubId, read, states)
    await storeForecasts(steps, keys, hubId, forecasts)
    const state = STATES[Math.floor(dice() * STATES.length)] ?? 'active'
    const expiresAt = now + Math.floor((dice() - 0.2) * 60) * MINUTE
    await steps.hset(keys.account(hubId).account, { state, obtainedAt: expiresAt - 60 * MINUTE, expiresAt })
    const { due } = keys
    for (const kind of ['refresh', 'poll'] as const)
      await steps.zadd(due[kind], now + (dice() - 0.1) * 20 * MINUTE, hubId)
  }
}

/** What each surface says of one alert, in its own words cut down to the values. */
interface Shown {
  id: string
  name: string
  level: string
  percent: string
  age: string
}

const ID = /\/alerts\/([0-9a-f]{16})/

function onPage(html: string): Shown[] {
  return html
    .split('<tr>')
    .filter((row) => ID.test(row) && row.includes('class="badge'))
    .map((row) => ({
      id: ID.exec(row)?.[1] ?? '',
      name: /<a href="\/alerts\/[^"]*">([^<]*)</.exec(row)?.[1]?.replaceAll('&#39;', "'") ?? '',
      level: /class="badge \w+">(\w+)</.exec(row)?.[1] ?? '',
      percent: /<span class="whole">([\d.,]+ %)<\/span>/.exec(row)?.[1] ?? '',
      age: /<time[^>]*>([^<]+)</.exec(row)?.[1] ?? '',
    }))
}

interface InApi extends Pick<OpenAlert, 'kind' | 'rule' | 'field' | 'series' | 'cause' | 'limit'> {
  id: string
  level: AlertLevel
  usage?: number
  percent?: number
  since: string
  daysLeft?: number
  hubId: number
}

function inApi(items: readonly InApi[], now: number): Shown[] {
  return items.map((alert) => ({
    id: alert.id,
    name: alertTitle(alert),
    level: alert.level,
    percent: alert.percent === undefined ? '' : formatPercent(alert.percent),
    age: formatDistance(Date.parse(alert.since) - now),
  }))
}

/** Columns are two spaces apart at least; of a token or a poll there is no usage. */
function inTerminal(out: string): (Shown & { hubId: string })[] {
  const [, ...lines] = out.trimEnd().split('\n')
  return lines.map((line) => {
    const cells = line.split(/ {2,}/)
    const percent = cells.find((cell) => cell.endsWith(' %')) ?? ''
    const age = cells.at(-2) ?? ''
    return {
      id: cells.at(-1) ?? '',
      name: cells[3] ?? '',
      level: cells[0] ?? '',
      percent,
      age: age === '0 s' ? 'now' : `${age} ago`,
      hubId: cells[1] ?? '',
    }
  })
}

interface InMessage extends Omit<Shown, 'name'> {
  forecast: string
}

function inMail(text: string): InMessage[] {
  return text.split(/^={60}$/m).map((section) => ({
    id: ID.exec(section)?.[1] ?? '',
    level: (/^\[(\w+)\] /m.exec(section)?.[1] ?? '').toLowerCase(),
    percent: /^Usage .*\(([\d.,]+ %)\)/m.exec(section)?.[1] ?? '',
    age: /^Since .*\((.*)\)$/m.exec(section)?.[1] ?? '',
    forecast: /^Forecast +(.*)$/m.exec(section)?.[1] ?? '',
  }))
}

interface SlackBlock {
  text?: { text: string }
  fields?: { text: string }[]
  elements?: { text: string }[]
}

function inSlack(body: string): InMessage {
  const { blocks } = JSON.parse(body) as { blocks: SlackBlock[] }
  const field = (name: string) =>
    blocks.flatMap(({ fields = [] }) => fields).find(({ text }) => text.startsWith(`${name}\n`))?.text ?? ''
  return {
    id: ID.exec(blocks.flatMap(({ elements = [] }) => elements.map(({ text }) => text)).join())?.[1] ?? '',
    level: blocks[0]?.text?.text.startsWith('[CRITICAL]') ? 'critical' : 'warning',
    percent: /\(([\d.,]+ %)\)/.exec(field('Usage'))?.[1] ?? '',
    age: /\((.*)\)$/.exec(field('Since'))?.[1] ?? '',
    forecast: field('Forecast').replace('Forecast\n', ''),
  }
}

/** An account's alerts stay together, as pages and messages have them. */
function byAccount<T extends { hubId: number | string }>(alerts: readonly T[]): T[] {
  return [...Map.groupBy(alerts, ({ hubId }) => hubId).values()].flat()
}

async function messages({ deps, keys, steps, clock }: World): Promise<Alert[]> {
  const settings = {
    rules: deps.explain.rules,
    pageOf: (hubId: number) => `http://x/accounts/${hubId}`,
    page: 'http://x/',
  }
  const accounts = await readAlertedAccounts(steps, keys, HUB_IDS)
  return accounts.flatMap((account) => openAlertMessages(settings, account, clock.now()))
}

test(`${FLEETS} fleets: page, API, command line, mail and Slack show the same values in the same order`, async () => {
  const world = await openServer(redis)
  const { get, deps, keys, clock, connectAccount } = world
  for (const hubId of HUB_IDS) await connectAccount({ hubId, hubDomain: `n${hubId}.example.com` })
  writeFileSync(join(folder, 'plimsoll.yaml'), configWith(keys.prefix))
  const run = async (...args: string[]) => {
    const { out, err } = await plimsollHere([...args, '--config', 'plimsoll.yaml'], folder, { clock })
    expect(err).toBe('')
    return out
  }
  const dice = chance(4711)
  const context = { receiver: 'chat', home: 'http://x/', groupBy: ['rule' as const], links: deps.links }
  for (let fleet = 0; fleet < FLEETS; fleet++) {
    await seed(world, dice)
    const now = clock.now()
    const [page, api, terminal, alerts] = await Promise.all([
      get('/alerts'),
      get('/api/v1/alerts'),
      run('alerts', 'list'),
      messages(world),
    ])
    const items: InApi[] = api.json.items
    const expected = inApi(items, now)
    const said = { fleet, shown: expected }
    expect({ fleet, shown: onPage(page.text) }).toEqual(said)
    if (items.length > 0)
      expect({ fleet, shown: byAccount(inTerminal(terminal)).map(({ hubId: _, ...one }) => one) }).toEqual({
        fleet,
        // A terminal has room for the beginning of an id.
        shown: expected.map(({ id, ...one }) => ({ ...one, id: id.slice(0, 8) })),
      })
    const message = { type: 'alert.firing' as const, timestamp: new Date(now).toISOString() }
    const mails: InMessage[] = []
    for (const one of byAccount(items)) {
      const alert = alerts.find(({ id }) => id.startsWith(one.id))
      if (alert === undefined) throw new Error(`no message about ${one.id}`)
      const alone = { ...message, data: { groupKey: 'g', truncated: 0, alerts: [alert] } }
      const { text, subject } = renderEmail(alone, now, deps.links)
      const [mail] = inMail(text)
      const slack = slackBody(alone, context)
      expect(inSlack(slack)).toEqual(mail)
      if (one.series !== undefined) {
        expect(text).toContain(limitText(one.series, one))
        if (one.percent !== undefined) expect(subject).toContain(formatPercent(one.percent))
      }
      if (mail !== undefined) mails.push(mail)
      const days = one.daysLeft === undefined || one.daysLeft <= 0 ? '' : daysLeftText(one.daysLeft)
      expect(mail?.forecast.replace(/ \(.*\)/, '').replace(/ at this pace$/, '')).toBe(days)
    }
    const unnamed = expected.map(({ name: _, ...one }) => one)
    expect({ fleet, shown: mails.map(({ forecast: _, ...one }) => one) }).toEqual({ fleet, shown: unnamed })
    if (alerts.length > 0)
      expectOrder({ ...message, data: { groupKey: 'g', truncated: 0, alerts } }, items, now, context)
    expectWorst(page.text, items, now)
    if (fleet % 10 === 0) await expectAccounts(world, await run('accounts', 'list'))
  }
})

/** In one message of all: the order of its sections, or of its rows, and of the accounts in Slack. */
function expectOrder(
  message: Parameters<typeof renderEmail>[0],
  items: readonly InApi[],
  now: number,
  context: Parameters<typeof slackBody>[1],
): void {
  const { text } = renderEmail(message, now, context.links)
  const ids = [...text.matchAll(/\/alerts\/([0-9a-f]{16})/g)].map(([, id]) => id)
  const inMailOrder = [...new Set(ids)]
  expect(items.map(({ id }) => id).slice(0, inMailOrder.length)).toEqual(inMailOrder)
  if (items.length < 2) return
  const { blocks } = JSON.parse(slackBody(message, context)) as { blocks: SlackBlock[] }
  const sections = blocks.filter(({ fields = [] }) => fields.length > 0)
  const accounts = [...Map.groupBy(items, ({ hubId }) => hubId)]
  if (accounts.length > 1)
    expect(sections.map(({ text }) => Number(/\((\d+)\)$/m.exec(text?.text ?? '')?.[1]))).toEqual(
      accounts.map(([hubId]) => hubId),
    )
  const levels = sections.map(({ fields = [] }) =>
    fields.map(({ text }) => (text.startsWith('🔴') ? 'critical' : 'warning')),
  )
  expect(levels).toEqual(accounts.map(([, own]) => own.map(({ level }) => level)))
}

/** The line of an account names its worst alert, a critical one first, with its numbers. */
function expectWorst(html: string, items: readonly InApi[], now: number): void {
  for (const [hubId, own] of Map.groupBy(items, (one) => one.hubId)) {
    const worst = own.find(({ level }) => level === 'critical') ?? own[0]
    const line = wordsOf(new RegExp(`id="account-${hubId}".*?</summary>`, 's').exec(html)?.[0] ?? '')
    const { usage, daysLeft, since = '' } = worst ?? {}
    for (const part of [
      usage === undefined || usage === 0 ? '' : formatCount(usage),
      daysLeft === undefined || daysLeft <= 0 ? '' : daysLeftText(daysLeft),
      formatDistance(Date.parse(since) - now),
    ])
      expect(line).toContain(part)
  }
}

interface ListedInApi {
  hubId: number
  state: AccountState
  polledAt: string
  openAlerts: AlertCounts
  trouble: string
}

/** Order, state, alerts, nearest limit, trouble and age of the last reading: the list of the page, of the API and of the command line. */
async function expectAccounts({ get, clock }: World, out: string): Promise<void> {
  const items: ListedInApi[] = (await get('/api/v1/accounts?sort=worst')).json.items
  const page = (await get('/accounts')).text.split('<tr>').slice(2)
  const [, ...lines] = out.trimEnd().split('\n')
  expect(page.map((row) => Number(/href="\/accounts\/(\d+)"/.exec(row)?.[1]))).toEqual(items.map(({ hubId }) => hubId))
  expect(lines.map((line) => Number(/^\d+/.exec(line)?.[0]))).toEqual(items.map(({ hubId }) => hubId))
  for (const [n, { state, polledAt, openAlerts, trouble }] of items.entries()) {
    const [row = '', words = ''] = [lines[n], wordsOf(page[n] ?? '')]
    const text = alertCountsText(openAlerts)
    for (const shown of [STATE_NAMES[state], text, formatSpan(clock.now() - Date.parse(polledAt)), trouble])
      expect(row).toContain(shown)
    const [, bar = '', percent = ''] = /class="bar (\w*)".*?<span class="whole">([\d.,]+ %)</s.exec(page[n] ?? '') ?? []
    expect(percent).not.toBe('')
    expect(row).toContain(`  ${percent} ${bar}`.trimEnd())
    expect(words).toContain(
      `${[state === 'active' ? '' : STATE_NAMES[state], trouble].filter(Boolean).join(': ') || 'active'} `,
    )
  }
}

function configWith(prefix: string): string {
  return `provider: { clientId: a, clientSecret: b }
redis: { url: "${redis.url}", prefix: ${prefix} }
encryption: { keys: [ { id: k1, key: "${Buffer.alloc(32, 1).toString('base64')}" } ] }
http: { publicUrl: https://plimsoll.example.com }
receivers: { ops: { type: email, smtp: "smtps://u:p@mail.example.com", from: a@example.com, to: [b@example.com] } }
routes: [ { to: [ops] } ]
`
}
