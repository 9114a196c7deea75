import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createKeys } from '../../src/redis/keys.ts'
import { readUpcoming } from '../../src/views/upcoming.ts'
import { pollAccount, properties, readings } from '../limits/reports.ts'
import { seedAccount } from '../support/accounts.ts'
import { plimsollHere } from '../support/command.ts'
import { foresee } from '../support/forecasts.ts'
import { HandClock } from '../support/hand-clock.ts'
import { redisOfFile } from '../support/of-file.ts'

const NOW = Date.parse('2026-11-21T10:00:00.000Z')
const clock = new HandClock(NOW)
const keys = createKeys('plimsoll')
const redis = redisOfFile()
let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'plimsoll-upcoming-'))
  writeFileSync(
    join(folder, 'plimsoll.yaml'),
    `provider: { clientId: a, clientSecret: b }
redis: { url: "${redis.url}" }
encryption: { keys: [ { id: k1, key: "${Buffer.alloc(32, 7).toString('base64')}" } ] }
http: { publicUrl: https://plimsoll.example.com }
receivers: { ops: { type: email, smtp: "smtps://u:p@mail.example.com", from: a@example.com, to: [b@example.com] } }
routes: [ { to: [ops] } ]
`,
  )
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const run = (...args: string[]) => plimsollHere(['upcoming', ...args, '--config', 'plimsoll.yaml'], folder, { clock })

test('the accounts that reach a limit next are a line each, soonest first; --json is the value of page and API', async () => {
  const store = redis.connect()
  expect((await run()).out).toMatch(/^No forecasts yet: /)
  for (const [hubId, hubDomain, usage] of [
    [7, 'acme.example.com', 880],
    [8, '\u001b[2Jglobex.example.com', 950],
    [9, 'full.example.com', 1_000],
  ] as const) {
    await seedAccount(store, keys, { hubId, hubDomain, obtainedAt: NOW })
    await pollAccount(store, keys, hubId, NOW, readings(NOW, properties(usage, 1_000, {})))
    const rising = { overall: { perDay: 10, perDayLow: 5, perDayHigh: 20, leap: 0, bend: 0 } }
    await foresee(store, keys, hubId, { at: NOW, rising })
  }
  const { out, code } = await run()
  expect([code, out.replaceAll(/ {2,}/g, '  ')]).toEqual([
    0,
    `2 accounts reach a limit in the next 30 days at this pace.

HUB ID  DOMAIN  LIMIT  %  LEFT  EXPECTED
8  [2Jglobex.example.com  Custom properties  95  5 days (2 to 10)  2026-11-26
7  acme.example.com  Custom properties  88  12 days (6 to 24)  2026-12-03

1 account has reached a limit already
HUB ID  DOMAIN  LIMIT  USED
9  full.example.com  Custom properties  1,000 of 1,000
`,
  ])
  const told = JSON.parse((await run('--json', '--max', '1')).out)
  expect(told).toEqual(JSON.parse(JSON.stringify(await readUpcoming({ store, keys }, { limit: 1 }, NOW))))
  expect(told.items).toMatchObject([{ hubId: 8, daysLeft: 5 }])
})
