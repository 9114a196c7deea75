import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alertId, encodeState, openedState } from '../../src/alerts/alert-state.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { formatTime, showTimesIn } from '../../src/text/format-time.ts'
import { plimsollHere } from '../support/command.ts'
import { HandClock } from '../support/hand-clock.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()
let folder: string
let made = 0
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'plimsoll-silence-'))
})
afterAll(async () => {
  showTimesIn(undefined)
  rmSync(folder, { recursive: true, force: true })
})

/** A Redis prefix of its own with two accounts, an alert each, and the command line on it. */
async function installation(timeZone = 'UTC') {
  const prefix = `t${++made}`
  const file = join(folder, `${prefix}.yaml`)
  const key = Buffer.alloc(32, 7).toString('base64')
  writeFileSync(
    file,
    `provider: { clientId: a, clientSecret: b }
redis: { url: "${redis.url}", prefix: ${prefix} }
encryption: { keys: [ { id: k1, key: "${key}" } ] }
http: { publicUrl: https://plimsoll.example.com, timeZone: ${timeZone} }
tags: { vip: [2] }
receivers: { ops: { type: email, smtp: "smtps://u:p@mail.example.com", from: a@example.com, to: [b@example.com] } }
routes: [ { to: [ops] } ]
`,
  )
  const keys = createKeys(prefix)
  const store = redis.connect()
  const clock = new HandClock()
  const since = clock.now() - 60_000
  for (const [hubId, level] of [
    [1, 'warning'],
    [2, 'critical'],
  ] as const) {
    await store.hset(keys.account(hubId).account, 'hubDomain', `n${hubId}.example.com`)
    await store.hset(keys.account(hubId).alerts, 'token', encodeState(openedState(level, 'token', since)))
    await store.sadd(keys.alerting, hubId)
  }
  const run = (...args: string[]) => plimsollHere(['alerts', ...args, '--config', file], folder, { clock })
  const json = async (...args: string[]) => JSON.parse((await run(...args, '--json')).out)
  return { run, json, clock, store, keys, idOf: (hubId: number) => alertId(hubId, 'token', since) }
}

describe('alerts silence', () => {
  test('takes tags, several of a name, an end and an author, and prints JSON', async () => {
    const { json } = await installation()
    const match = ['--match', 'tag=vip level=warning', '--match', 'level=critical']
    const end = ['--until', '2026-11-22T08:00:00+01:00', '--author', 'ann']
    expect(await json('silence', ...match, ...end, '--comment', 'x')).toEqual({
      id: expect.stringMatching(/^s-/),
      match: 'tag=vip level=warning level=critical',
      matchers: [
        { name: 'tag', value: 'vip' },
        { name: 'level', value: 'warning' },
        { name: 'level', value: 'critical' },
      ],
      author: 'ann',
      comment: 'x',
      active: true,
      openAlerts: 1,
      createdAt: '2026-11-21T10:00:00.000Z',
      startsAt: '2026-11-21T10:00:00.000Z',
      endsAt: '2026-11-22T07:00:00.000Z',
    })
  })

  test('may begin later: until then it covers nothing, and is listed', async () => {
    const { run, json } = await installation()
    const args = ['silence', '--match', 'account=1', '--start', '2026-11-21T12:00Z', '--for', '2h', '--comment', 'x']
    const { out } = await run(...args)
    expect(out).toMatch(/account=1, from 2026-11-21 12:00 UTC until 2026-11-21 14:00 UTC\n/)
    expect((await run('silences')).out).toMatch(/ in 2 h +in 4 h +1$/m)
    expect((await json('silences'))[0]).toMatchObject({ active: false, startsAt: '2026-11-21T12:00:00.000Z' })
    expect((await json('list')).filter(({ silencedBy }: { silencedBy?: string }) => silencedBy !== undefined)).toEqual(
      [],
    )
    const late = await run(
      'silence',
      '--match',
      'account=1',
      '--start',
      '2026-11-21T15:00Z',
      '--until',
      '2026-11-21T14:00Z',
      '--comment',
      'x',
    )
    expect(late.err).toContain('--start must be before the end')
  })

  test.each([
    ['2026-11-22T08:00', '2026-11-22T07:00:00.000Z'],
    ['2026-11-22T08:00:30', '2026-11-22T07:00:30.000Z'],
    ['2026-11-22', '2026-11-21T23:00:00.000Z'],
    ['2026-11-22T08:00Z', '2026-11-22T08:00:00.000Z'],
    ['2026-11-22T08:00-05:00', '2026-11-22T13:00:00.000Z'],
  ])('an end without offset is in http.timeZone, as the times that are shown: %s', async (end, endsAt) => {
    const { json, run } = await installation('Europe/Berlin')
    showTimesIn('America/New_York')
    const args = ['silence', '--match', 'account=1', '--until', end, '--comment', 'x']
    expect(await json(...args)).toMatchObject({ endsAt })
    expect((await run(...args)).out).toContain(`until ${formatTime(endsAt)}`)
  })
})

test('alerts unsilence ends one now; again it says that it was over; an unknown one is an error', async () => {
  const { run, json, clock } = await installation()
  const { id } = await json('silence', '--match', 'kind=*', '--for', '2h', '--comment', 'x')
  clock.move(1_000)
  expect((await run('unsilence', id)).out).toBe(`silence ${id} is ended: what it covered and still fires is sent now\n`)
  expect((await run('unsilence', id)).out).toBe(`silence ${id} was over already: it ended 2026-11-21 10:00 UTC\n`)
  expect(await json('silences')).toEqual([])
  expect(await json('silences', '--all')).toMatchObject([{ id, active: false }])
  expect((await run('silences', '--all')).out).toMatch(/ x +now +\d+$/m)
  expect((await json('list'))[0]).not.toHaveProperty('silencedBy')
  expect(await run('unsilence', 's-nobody')).toMatchObject({
    code: 1,
    err: expect.stringContaining('there is no silence'),
  })
})

describe('alerts ack', () => {
  test('takes an alert up, once, by its id or how that begins; the list of alerts shows it', async () => {
    const { run, json, idOf } = await installation()
    const until = '2026-11-28T10:00:00.000Z'
    expect(await json('ack', `${idOf(1)}-1`, '--comment', 'asked them', '--author', 'ann')).toEqual({
      id: idOf(1),
      hubId: 1,
      outcome: 'acknowledged',
      acknowledged: { at: '2026-11-21T10:00:00.000Z', by: 'ann', comment: 'asked them', until },
    })
    expect(await run('ack', idOf(1).slice(0, 8))).toMatchObject({
      code: 0,
      out: `alert ${idOf(1)} of n1.example.com (1) was acknowledged already, by ann until 2026-11-28 10:00 UTC\n`,
    })
    expect((await json('list'))[1]).toMatchObject({ hubId: 1, acknowledged: { by: 'ann', until } })
    expect((await run('list')).out).toMatch(/ACK BY.*\n.*n2\.example\.com.*\n.*n1.*ann/)
  })

  test('takes a comment as one harmless line of bounded length', async () => {
    const { run, json, idOf } = await installation()
    const long = await run('ack', idOf(1), '--comment', 'x'.repeat(501))
    expect(long).toMatchObject({ code: 2, err: expect.stringContaining('--comment is longer than 500 characters') })
    const hostile = 'asked \u001b[31mthem\r\nand\u202e waited'
    expect((await json('ack', idOf(1), '--comment', hostile)).acknowledged.comment).toBe('asked [31mthem and waited')
    expect((await json('ack', idOf(2), '--comment', ' ')).acknowledged).not.toHaveProperty('comment')
  })
})
