import { randomBytes } from 'node:crypto'
import { describe, expect, onTestFinished, test } from 'vitest'
import { AuditLog } from '../../src/audit/audit-log.ts'
import { AUDIT_KEPT_MS, type AuditedDeed, LONGEST, MOST_ENTRIES } from '../../src/audit/audited.ts'
import { type AuditQuery, readAudit } from '../../src/audit/read-audit.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { HandClock } from '../support/hand-clock.ts'
import { logLines } from '../support/log-lines.ts'
import { redisOfFile } from '../support/of-file.ts'
import { startRedis } from '../support/redis-server.ts'

const redis = redisOfFile()
const DAY_MS = 86_400_000
const ANN = { name: 'ann', via: 'session', from: '192.0.2.1' } as const

function open(store = redis.connect('pages')) {
  const keys = createKeys(`test-${randomBytes(6).toString('hex')}`)
  // The ids of entries are of the clock of Redis.
  const clock = new HandClock(Date.now())
  const logs = logLines()
  const audit = new AuditLog({ store, keys, clock, log: logs.log })
  const read = async (query: AuditQuery = {}, page: { after?: string | undefined; limit?: number } = {}) =>
    readAudit({ store, keys }, query, { limit: 100, ...page }, clock.now())
  return { store, keys, clock, logs, audit, read }
}

const poll = (hubId: number): AuditedDeed => ({ action: 'account.polled', who: ANN, hubId })

describe('what was done', () => {
  test('is read back, newest first, and is a line of the log', async () => {
    const { audit, read, logs } = open()
    await audit.note(
      { action: 'silence.added', who: ANN, subject: 's-23456', detail: 'account=7' },
      { silence: 's-23456' },
    )
    await audit.note(poll(7))
    await audit.note({ action: 'sign-in.refused', who: { name: '', via: 'session', from: '192.0.2.9' } })
    const { entries, next } = await read()
    expect(next).toBeUndefined()
    expect(entries.map(({ action }) => action)).toEqual(['sign-in.refused', 'account.polled', 'silence.added'])
    expect(entries.find(({ action }) => action === 'silence.added')).toEqual({
      id: expect.stringMatching(/^\d+-\d+$/),
      at: expect.any(Number),
      action: 'silence.added',
      who: ANN,
      subject: 's-23456',
      detail: 'account=7',
    })
    expect(logs.lines().map(({ code, by }) => [code, by])).toEqual([
      ['silence.added', 'ann'],
      ['account.polled', 'ann'],
    ])
  })

  test('is found by who, account, action and time', async () => {
    const { audit, read, clock } = open()
    await audit.note(poll(7))
    await audit.note({ action: 'account.contact', who: { name: 'Bob@Example.com', via: 'proxy' }, hubId: 7 })
    await audit.note({ ...poll(8), who: { name: 'bob', via: 'command' } })
    const found = async (query: AuditQuery) => (await read(query)).entries.map(({ who, hubId }) => [who.name, hubId])
    // Both may be of one millisecond.
    expect((await found({ who: 'BOB' })).sort()).toEqual([
      ['Bob@Example.com', 7],
      ['bob', 8],
    ])
    expect(await found({ hubId: 7, action: 'account.polled' })).toEqual([['ann', 7]])
    expect(await found({ since: clock.now() + 60_000 })).toEqual([])
  })

  test('is paged without gaps and doubles', async () => {
    const { audit, read } = open()
    await Promise.all(Array.from({ length: 1_250 }, (_, n) => audit.note(poll(n + 1))))
    const seen: string[] = []
    for (let after: string | undefined; ; ) {
      const { entries, next } = await read({}, { after, limit: 7 })
      seen.push(...entries.map(({ id }) => id))
      if (next === undefined) break
      after = next
    }
    expect(new Set(seen).size).toBe(1_250)
    const times = seen.map((one) => Number.parseInt(one, 10))
    expect(times).toEqual(times.toSorted((a, b) => b - a))
  })

  test('that is handed out all the time is written once a day for each of who and account', async () => {
    const { audit, read, clock } = open()
    const serve = (hubId: number, name = 'billing') =>
      audit.noteFirstOfDay({ action: 'token.served', who: { name, via: 'token' }, hubId })
    for (let n = 0; n < 50; n++) await serve(7)
    await serve(8)
    await serve(7, 'crm')
    expect((await read()).entries).toHaveLength(3)
    clock.move(DAY_MS)
    await serve(7)
    expect((await read()).entries).toHaveLength(4)
  })
})

describe('it is kept', () => {
  test('for 90 days: what is older is not shown, and gone with the next entry; what nothing is added to ends by itself', async () => {
    const { store, keys, clock, audit, read } = open()
    const entry = (name: string) => JSON.stringify({ ...poll(7), who: { name, via: 'token' } })
    await store.xadd(keys.audit, `${clock.now() - AUDIT_KEPT_MS - 1_000}-0`, 'deed', entry('old'))
    await store.xadd(keys.audit, `${clock.now() - AUDIT_KEPT_MS + 60_000}-0`, 'deed', entry('young'))
    expect((await read()).entries.map(({ who }) => who.name)).toEqual(['young'])
    await audit.note(poll(7))
    expect(await store.xlen(keys.audit)).toBe(2)
    const ttl = await store.pttl(keys.audit)
    expect(ttl).toBeGreaterThan(AUDIT_KEPT_MS - 60_000)
    expect(ttl).toBeLessThanOrEqual(AUDIT_KEPT_MS)
  })

  test('of one stranger who tries again and again once a day', async () => {
    const { audit, read, clock } = open()
    const refused = (from: string) =>
      audit.noteFirstOfDay({ action: 'sign-in.refused', who: { name: '', via: 'session', from } }, from)
    for (let n = 0; n < 100; n++) await refused('192.0.2.1')
    await refused('192.0.2.2')
    expect((await read()).entries).toHaveLength(2)
    clock.move(DAY_MS)
    await refused('192.0.2.1')
    expect((await read()).entries).toHaveLength(3)
  })

  test('whatever programs and strangers repeat on all of the days', async () => {
    const { audit, read, store, keys } = open()
    const billing = { name: 'billing', via: 'token' } as const
    for (let n = 0; n < 5_000; n += 500)
      await Promise.all(
        Array.from({ length: 500 }, (_, m) => [
          audit.noteFirstOfDay({ action: 'account.polled', who: billing, hubId: n + m + 1 }),
          audit.noteFirstOfDay({ action: 'sign-in.refused', who: { name: '', via: 'token' } }, `203.0.${n}.${m}`),
        ]).flat(),
      )
    for (let n = 0; n < 5; n++) await audit.noteFirstOfDay({ action: 'account.polled', who: billing, hubId: 1 })
    // One more each: of the program, and of strangers.
    expect(await store.xlen(keys.audit)).toBe(2 * 2_501)
    expect(90 * (await store.xlen(keys.audit))).toBeLessThan(MOST_ENTRIES)
    await audit.noteFirstOfDay({ action: 'account.refreshed', who: billing, hubId: 1 })
    expect((await read({ action: 'account.refreshed' })).entries).toHaveLength(1)
  })

  test('in some megabytes: 75 as it is used, 460 where each text is as long as it may be', async () => {
    const bytes = async (deed: (n: number) => AuditedDeed) => {
      const { store, keys, audit } = open()
      for (let n = 0; n < 10; n++)
        await Promise.all(Array.from({ length: 100 }, (_, m) => audit.note(deed(n * 100 + m))))
      const used = Number(await store.memory('USAGE', keys.audit, 'SAMPLES', 0))
      return (used / 1_000) * MOST_ENTRIES
    }
    const usual = await bytes((n) => ({ ...poll(1_000_000 + n), detail: 'read' }))
    const long = (letter: string) =>
      bytes((n) => ({
        action: 'account.polled',
        hubId: Number.MAX_SAFE_INTEGER - n,
        who: { name: letter.repeat(LONGEST.name), via: 'command', from: letter.repeat(LONGEST.from) },
        subject: letter.repeat(LONGEST.subject),
        detail: letter.repeat(LONGEST.detail),
      }))
    expect(usual / 1e6).toBeLessThan(85)
    for (const letter of ['x', '🦀']) expect((await long(letter)) / 1e6).toBeLessThan(470)
  })
})

describe('what was done is done', () => {
  test('where Redis takes no entry the log has it, whole, and nothing fails', async () => {
    const own = await startRedis()
    onTestFinished(() => own.stop())
    const { audit, store, logs, read } = open(own.connect('pages'))
    await audit.note(poll(7))
    await store.config('SET', 'min-replicas-to-write', '1')
    await audit.note({ action: 'account.contact', who: ANN, hubId: 7, detail: 'set' })
    expect(logs.lines().at(-1)).toMatchObject({
      level: 'error',
      code: 'audit.not-written',
      entry: { action: 'account.contact', who: 'ann', via: 'session', from: '192.0.2.1', hubId: 7, detail: 'set' },
    })
    await store.config('SET', 'min-replicas-to-write', '0')
    expect((await read()).entries).toHaveLength(1)
  })
})

test.each([
  ['a\r\nb\tc', 'a b c'],
  ['an\u202en', 'ann'],
  ['\u0000\u001b[31mred', '[31mred'],
  ['x'.repeat(101), `${'x'.repeat(97)}…`],
  ['<img src=x onerror=alert(1)>', '<img src=x onerror=alert(1)>'],
  ['=HYPERLINK("http://evil")', '=HYPERLINK("http://evil")'],
  ['a\ud800b', 'a\ufffdb'],
  ['🦀'.repeat(50), `${'🦀'.repeat(24)}…`],
])('the name %j is one line of bounded length', async (name, kept) => {
  const { audit, read, logs } = open()
  await audit.note({ ...poll(7), who: { name, via: 'proxy' } })
  expect((await read()).entries[0]?.who.name).toBe(kept)
  expect(logs.lines()[0]?.by).toMatch(/^[^\p{C}]{1,100}$/u)
})

test('what another version or program wrote there is passed over', async () => {
  const { store, keys, read, audit } = open()
  const who = { name: 'ann', via: 'session' }
  const write = (deed: object) => store.xadd(keys.audit, '*', 'deed', JSON.stringify(deed))
  await audit.note({ action: 'silence.ended', who: ANN, subject: 's-1' })
  await write({ action: 'of.the.future', who })
  await write({ action: 'silence.ended', who: { ...who, via: 'magic' } })
  await store.xadd(keys.audit, '*', 'x', 'y')
  await write({ action: 'silence.ended', who, detail: '\u001b[2J' })
  const { entries } = await read()
  expect(entries.map(({ subject, detail }) => [subject, detail])).toEqual([
    [undefined, '[2J'],
    ['s-1', undefined],
  ])
})
