import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ACCOUNT_STATES, createKeys } from '../../src/redis/keys.ts'
import { type AlertWrites, EndpointText, NO_ALERT_WRITES, stepJson } from '../../src/redis/steps.ts'
import { outboxOf } from '../support/accounts.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()

const decode = (json: string) => redis.connect().eval('return cjson.decode(ARGV[1]).text', 0, json)

test('what a step is given is JSON that Lua can read, whatever stands in it', async () => {
  for (const text of ['plain', 'an emoji 😀', 'a quote " and a \\ud83d that is spelt out', '']) {
    expect(await decode(stepJson({ text }))).toBe(text)
  }
  expect(await decode(stepJson({ text: 'half of one: \ud83d.' }))).toBe('half of one: \ufffd.')
  await expect(decode(JSON.stringify({ text: 'half of one: \ud83d.' }))).rejects.toThrow()
})

test('the names that a step on an account makes for itself are those that everybody else uses', async () => {
  const shared = readFileSync(new URL('../../src/redis/lua/include/account-step.lua', import.meta.url), 'utf8')
  const states = ACCOUNT_STATES.map((state) => `inState('${state}')`)
  const script = `${shared} return {ACCOUNT, tokensKey(), accessKey(), pollKey(), samplesKey(), historyKey(), forecastKey(),
    alertsKey(), alertingKey(), dueKey('refresh'), dueKey('poll'), dueKey('uninstall'),
    freshKey(), firstReadingsKey(), pollFailingKey(), nearestKey(), domainsKey(), ${states.join(', ')}}`
  for (const prefix of ['plimsoll', 'a:account:1']) {
    for (const hubId of [0, 1, 62_515, Number.MAX_SAFE_INTEGER]) {
      const keys = createKeys(prefix)
      const own = keys.account(hubId)
      const { alerting, due, fresh, firstReadings, pollFailing, nearest, domains, state } = keys
      expect(await redis.connect().eval(script, 1, keys.own(hubId))).toEqual([
        own.account,
        own.tokens,
        own.access,
        own.poll,
        own.samples,
        own.history,
        own.forecast,
        own.alerts,
        alerting,
        due.refresh,
        due.poll,
        due.uninstall,
        fresh,
        firstReadings,
        pollFailing,
        nearest,
        domains,
        ...ACCOUNT_STATES.map((name) => state[name]),
      ])
    }
  }
})

test('the names that a step on deliveries makes for itself are those that everybody else uses', async () => {
  const shared = readFileSync(new URL('../../src/redis/lua/include/delivery-step.lua', import.meta.url), 'utf8')
  const script = `${shared} return {RECEIVERS_DUE, DEAD, DELIVERED, WAITING, UNDER_WAY, ATTEMPTS, DISABLED, RECEIVERS, knownKey('a'),
    recentKey('a'), deliveryKey('a'), receiverKey('a'), pendingKey('a'), linesKey('a'),
    DIGESTS_SENT, NEWS, UNSENT, DECIDED, ENDED, HOLD_CHANGES, ACKNOWLEDGED, ACKNOWLEDGEMENTS_DUE}`
  for (const prefix of ['plimsoll', 'a:due']) {
    const { delivery: own, digests, ...keys } = createKeys(prefix)
    expect(await redis.connect().eval(script, 1, own.receiversDue)).toEqual([
      own.receiversDue,
      own.dead,
      own.delivered,
      own.waiting,
      own.underWay,
      own.log,
      own.disabled,
      own.receivers,
      own.known('a'),
      own.recent('a'),
      own.delivery('a'),
      own.receiver('a'),
      own.pending('a'),
      own.lines('a'),
      digests.sent,
      keys.news,
      keys.unsent,
      keys.decided,
      keys.ended,
      keys.holdChanges,
      keys.acknowledged,
      keys.acknowledgementsDue,
    ])
  }
})

test('transitions go where everybody looks for them: to the log, and to the news', async () => {
  const keys = createKeys('appended')
  const store = redis.connect()
  const append = async (id: string) => {
    const writes = { changes: [], entries: [`${id} {"alert":{"id":"${id}"}}`] }
    await store.changeAlerts(keys.own(1), 1, stepJson(writes))
  }
  const { transitions, news, unsent } = keys
  await append('a-1')
  await append('b-4')
  const since = Number(await store.zscore(unsent, 'a'))
  expect(since).toBeGreaterThan(1_700_000_000_000)
  await append('a-2')
  // Nobody has looked since then.
  expect(Number(await store.zscore(unsent, 'a'))).toBe(since)
  const places = (await store.xrange(transitions, '-', '+')).map(([place]) => place)
  expect(await store.hgetall(news)).toEqual({
    a: `${places[2]} 0 - 0 {"alert":{"id":"a-2"}}`,
    b: `${places[1]} 3 - 0 {"alert":{"id":"b-4"}}`,
  })
})

/** Null: changed; else what was found. */
function endpoint() {
  const keys = redis.freshKeys()
  const change = (before: string, after: string, alerts: AlertWrites = NO_ALERT_WRITES) =>
    redis.store.replaceField(keys.fleet, 'endpoint', before, after, stepJson(alerts))
  return { keys, change, alerts: keys.account(0).alerts }
}

test('the state is changed only as it was read, and the alerts with it or not at all', async () => {
  const { keys, change } = endpoint()
  expect(await change('', 'one')).toBeNull()
  const alerts = { changes: [['clock', '', '{}'] as [string, string, string]], entries: ['a {"alert":{"id":"a"}}'] }
  for (const wrong of ['', 'two', 'ONE']) expect(await change(wrong, 'three', alerts)).toBe('one')
  expect(await redis.store.hget(keys.fleet, 'endpoint')).toBe('one')
  expect(await outboxOf(redis.store, keys, 0)).toEqual([])

  expect(await change('one', 'two', alerts)).toBeNull()
  expect(await outboxOf(redis.store, keys, 0)).toEqual([{ id: 'a' }])
  expect(await redis.store.smembers(keys.alerting)).toEqual(['0'])
  expect(await change('two', 'three', { changes: [['clock', '{}', '']], entries: [] })).toBeNull()
  expect(await redis.store.smembers(keys.alerting)).toEqual([])

  await redis.store.hdel(keys.fleet, 'endpoint')
  expect(await change('three', 'four')).toBe('')
})

test('an alert that was acknowledged since it was read is decided on anew', async () => {
  const { keys, change, alerts } = endpoint()
  await redis.store.hset(alerts, 'clock', 'acknowledged')
  await change('', 'one')
  const closing = (stored: string): AlertWrites => ({
    changes: [['clock', stored, '']],
    entries: ['a {"alert":{"id":"a"}}'],
  })
  expect(await change('one', 'two', closing('firing'))).toBe('one')
  expect(await redis.store.hgetall(alerts)).toEqual({ clock: 'acknowledged' })
  expect(await outboxOf(redis.store, keys, 0)).toEqual([])
  expect(await change('one', 'two', closing('acknowledged'))).toBeNull()
  expect(await redis.store.hgetall(alerts)).toEqual({})
})

test('a text is decided on anew until no other daemon was faster', async () => {
  const keys = redis.freshKeys()
  const daemons = Array.from({ length: 20 }, () => new EndpointText(redis.store, keys))
  const add = (text: EndpointText) => text.change((stored) => ({ after: `${stored}x`, result: stored.length }))
  const lengths = await Promise.all(daemons.map(add))
  expect(lengths.sort((a, b) => a - b)).toEqual(daemons.map((_, n) => n))
  expect(await redis.store.hget(keys.fleet, 'endpoint')).toHaveLength(20)
})
