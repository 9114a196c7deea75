import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeEntry } from '../../src/alerts/outbox.ts'
import type { Store } from '../../src/redis/connect.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { showTimesIn } from '../../src/text/format-time.ts'
import { anAlert } from '../alerts/an-alert.ts'
import { plimsollHere } from '../support/command.ts'
import { HandClock } from '../support/hand-clock.ts'
import { redisOfFile } from '../support/of-file.ts'

const HOUR = 3_600_000
const NOW = Date.parse('2026-11-21T10:00:00.000Z')
const clock = new HandClock(NOW)
const keys = createKeys('plimsoll')
const redis = redisOfFile()
let folder: string
let store: Store

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'plimsoll-changes-'))
  writeFileSync(
    join(folder, 'plimsoll.yaml'),
    `provider: { clientId: a, clientSecret: b }
redis: { url: "${redis.url}" }
encryption: { keys: [ { id: k1, key: "${Buffer.alloc(32, 7).toString('base64')}" } ] }
http: { publicUrl: https://plimsoll.example.com, timeZone: Europe/Berlin }
receivers: { ops: { type: email, smtp: "smtps://u:p@mail.example.com", from: a@example.com, to: [b@example.com] } }
routes: [ { to: [ops] } ]
`,
  )
  store = redis.connect()
})
afterAll(() => {
  showTimesIn(undefined)
  rmSync(folder, { recursive: true, force: true })
})

const run = (...args: string[]) => plimsollHere(['changes', ...args, '--config', 'plimsoll.yaml'], folder, { clock })

test('--json has every change, and what is not kept any more is on standard error too', async () => {
  const { counts, items } = JSON.parse((await run('--json')).out)
  expect([counts.limit, items.length]).toEqual([0, 0])
  const many = store.pipeline()
  const measuredAt = new Date(NOW - HOUR).toISOString()
  for (let n = 0; n < 50_000; n++) {
    const alert = anAlert({ account: { hubId: 72, hubDomain: '' }, measuredAt, series: { metric: `m${n}` } })
    many.xadd(keys.transitions, 'MAXLEN', 50_000, '*', 'alert', encodeEntry({ alert }))
  }
  await many.exec()
  const { out, err } = await run()
  expect(err).toMatch(/^plimsoll: not all changes before 2026-11-21 10:00 CET are kept\.\n$/)
  expect(out).toMatch(/account 72 .*, and 49 more changes .*\n\nShowing \d+ of 50,000 changes\.\n$/s)
  expect(JSON.parse((await run('--json')).out).keptSince).toBe('2026-11-21T09:00:00.000Z')
})
