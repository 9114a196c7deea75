import { randomBytes } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { withTags } from '../../src/accounts/match-account.ts'
import type { Alert } from '../../src/alerts/alert.ts'
import type { AlertsDeps } from '../../src/alerts/deps.ts'
import { sendAlerts } from '../../src/alerts/sending/send-alerts.ts'
import { parseMatcher } from '../../src/alerts/silence.ts'
import { actionsOnAlerts } from '../../src/app/alert-actions.ts'
import { openResources } from '../../src/app/resources.ts'
import { buildServices } from '../../src/app/services.ts'
import { Lifecycle } from '../../src/runtime/lifecycle.ts'
import { commit } from '../alerts/a-relay.ts'
import { anAlert } from '../alerts/an-alert.ts'
import { configOf, KEY } from '../config/load-text.ts'
import { HandClock } from '../support/hand-clock.ts'
import { logLines } from '../support/log-lines.ts'
import { redisOfFile } from '../support/of-file.ts'
import { pendingIds } from '../support/take-due.ts'

const ANN = { name: 'ann', via: 'command' } as const
const redis = redisOfFile()

const HOUR = 3_600_000

/** What a daemon has, with a sweep of alerts that the test makes by hand. */
async function installation(routes = '[ { to: [ops] } ]') {
  const config = configOf(`
provider: { clientId: a, clientSecret: b }
redis: { url: "${redis.url}", prefix: t${randomBytes(4).toString('hex')} }
encryption: { keys: [ { id: k1, key: "${KEY}" } ] }
http: { publicUrl: https://plimsoll.example.com }
tags: { vip: [123] }
alerts: { group: { wait: 30s, interval: 5m } }
receivers: { ops: { type: email, smtp: "smtps://u:p@mail.example.com", from: a@example.com, to: [b@example.com] } }
routes: ${routes}
`)
  const lifecycle = new Lifecycle()
  onTestFinished(() => lifecycle.close())
  const clock = new HandClock()
  const input = { config, clock, random: () => 0.5, log: logLines().log }
  const parts = buildServices(await openResources(input, lifecycle, 'steps'), config)
  lifecycle.onClose('the receivers', () => parts.close())
  const actions = actionsOnAlerts(parts)
  const { store, keys } = parts
  const relay: AlertsDeps = {
    ...parts,
    routes: withTags(config.routes, config.tags),
    receivers: ['ops'],
    group: { by: ['rule'], waitMs: 30_000, intervalMs: 300_000, max: 200 },
  }
  /** Time passes, and the sweep comes by often enough to see it. */
  const passes = async (ms: number) => {
    for (const part of [ms, 30_000]) {
      clock.move(part)
      await sendAlerts(relay, clock.now())
      await sendAlerts(relay, clock.now())
    }
  }
  const told = async () => {
    const ids = await pendingIds(store, keys)
    const messages = await Promise.all(ids.map((id) => store.hget(keys.delivery.delivery(id), 'message')))
    return messages.flatMap((text) => JSON.parse(text ?? '').data.alerts.map(({ id }: Alert) => id))
  }
  const silence = async (...texts: string[]) => {
    const matchers = texts.map((text) => {
      const parsed = parseMatcher(text, parts.silences.tagNames)
      if (!parsed.ok) throw new Error(parsed.fault)
      return parsed.matcher
    })
    const now = clock.now()
    return actions.silence({ matchers, author: 'ann', comment: 'x', createdAt: now, endsAt: now + 2 * HOUR }, ANN)
  }
  return {
    actions,
    clock,
    passes,
    told,
    silence,
    commit: (...alerts: Alert[]) => commit(store, keys, ...alerts.map((alert) => ({ alert }))),
  }
}

test('what a silence covers is not told while it lasts, whatever else is; what still fires is told when it ends', async () => {
  const one = await installation()
  await one.silence('tag=vip', 'level=warning')
  const [quiet, loud] = [anAlert(), anAlert({ level: 'critical' })]
  await one.commit(quiet, loud)
  await one.passes(60_000)
  expect(await one.told()).toEqual([loud.id])
  await one.passes(2 * HOUR)
  expect((await one.told()).sort()).toEqual([quiet.id, loud.id].sort())
})

test('ended by hand, what it covered and still fires is told then', async () => {
  const one = await installation()
  const { id } = await one.silence('account=123')
  const alert = anAlert()
  await one.commit(alert)
  await one.passes(60_000)
  expect(await one.told()).toEqual([])
  expect(await one.actions.unsilence(id, ANN)).toMatchObject({ is: 'ended' })
  await one.passes(0)
  expect(await one.told()).toEqual([alert.id])
})

test('what a route takes in its quiet hours is told after them, by the clock of their zone', async () => {
  // It is 10:00 UTC, and 11:00 in Berlin.
  const quiet = '{ from: "09:30", to: "12:00", timeZone: Europe/Berlin }'
  const one = await installation(`[ { match: { level: critical }, to: [ops] }, { to: [ops], quiet: ${quiet} } ]`)
  const [later, now] = [anAlert(), anAlert({ level: 'critical' })]
  await one.commit(later, now)
  await one.passes(HOUR / 2)
  expect(await one.told()).toEqual([now.id])
  await one.passes(HOUR / 2)
  expect((await one.told()).sort()).toEqual([later.id, now.id].sort())
})
