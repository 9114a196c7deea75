import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { plimsollHere } from '../support/command.ts'
import { eventually, freePort } from '../support/fleet.ts'
import { startRedis } from '../support/redis-server.ts'

test('a start while Redis accepts no writes names the way out, as other commands do', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-refused-'))
  const redis = await startRedis(folder)
  onTestFinished(async () => {
    await redis.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  const store = redis.connect('pages')
  // Where its file belongs is a folder: it can't save, as on a full disk.
  mkdirSync(join(folder, 'dump.rdb'))
  await store.config('SET', 'save', '3600 1')
  await store.bgsave('SCHEDULE')
  await eventually('it has failed', async () => (await store.info('persistence')).includes('bgsave_status:err'))
  writeFileSync(
    join(folder, 'plimsoll.yaml'),
    `provider: { clientId: a, clientSecret: b }
redis: { url: "${redis.url}" }
encryption: { keys: [ { id: k1, key: "${Buffer.alloc(32, 7).toString('base64')}" } ] }
http: { publicUrl: https://plimsoll.example.com, listen: "127.0.0.1:${await freePort()}", adminToken: an-admin-token-for-tests }
receivers: { ops: { type: email, smtp: "smtps://u:p@mail.example.com", from: a@example.com, to: [b@example.com] } }
routes: [ { to: [ops] } ]
`,
  )
  const { code, err } = await plimsollHere(['start', '--config', 'plimsoll.yaml'], folder)
  expect([code, err]).toEqual([
    1,
    expect.stringMatching(/^plimsoll: Redis accepts no writes \(MISCONF .*\): plimsoll doctor shows what to do/m),
  ])
})
