import { randomBytes } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { reload } from '../../src/app/reload.ts'
import { openResources } from '../../src/app/resources.ts'
import { buildServices, type Services } from '../../src/app/services.ts'
import { InForce } from '../../src/runtime/concurrency.ts'
import { Lifecycle } from '../../src/runtime/lifecycle.ts'
import { checkKeys } from '../../src/tokens/vault-keys.ts'
import { configOf, KEY } from '../config/load-text.ts'
import { HandClock } from '../support/hand-clock.ts'
import { logLines } from '../support/log-lines.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()

test('a reload closes what worked by the config before once no job works by it any more', async () => {
  const config = configOf(`
provider: { clientId: a, clientSecret: b }
redis: { url: "${redis.url}", prefix: t${randomBytes(4).toString('hex')} }
encryption: { keys: [ { id: k1, key: "${KEY}" } ] }
http: { publicUrl: https://plimsoll.example.com }
receivers: { ops: { type: email, smtp: "smtps://u:p@mail.example.com", from: a@example.com, to: [b@example.com] } }
routes: [ { to: [ops] } ]
`)
  const lifecycle = new Lifecycle()
  onTestFinished(() => lifecycle.close())
  const input = { config, clock: new HandClock(), random: () => 0.5, log: logLines().log }
  const opened = buildServices(await openResources(input, lifecycle, 'steps'), config)
  await checkKeys(opened.store, opened.keys, opened.vault)
  const closed = Promise.withResolvers<void>()
  let isClosed = false
  const before: Services = {
    ...opened,
    close: async () => {
      isClosed = true
      closed.resolve()
    },
  }
  const inForce = new InForce(before)
  lifecycle.onClose('the receivers', () => inForce.value.close())
  const underWay = Promise.withResolvers<void>()
  const job = inForce.run(() => underWay.promise)
  const followers = { now: [], http: { prepare: async () => async () => {} } }
  await reload(inForce, followers, { report: async () => {}, stop: async () => {} }, config)
  expect([inForce.value === before, isClosed]).toEqual([false, false])
  underWay.resolve()
  await job
  await closed.promise
})
