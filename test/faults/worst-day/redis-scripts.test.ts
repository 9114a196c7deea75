import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { eventually, journalOf } from '../../support/fleet.ts'
import { at } from '../../support/look-into.ts'
import { fleetAtWork, isReady, readiness } from './fleet-at-work.ts'

const BUSY_MS = 5_000

test.concurrent('somebody flushes the scripts of Redis again and again: each step is sent anew, and nobody notices', async (context) => {
  const fleet = await fleetAtWork(context)
  const store = fleet.scene.redis.store()
  const since = Date.now()
  const flushing = setInterval(() => void store.script('FLUSH'), 200)
  context.onTestFinished(() => clearInterval(flushing))
  await fleet.worksSince(since)
  await fleet.expectUnhurt()
  expect(fleet.daemon.lines.filter((line) => line.includes('NOSCRIPT'))).toEqual([])
})

test.concurrent('somebody’s endless script keeps Redis busy: nothing is redeemed meanwhile, and after SCRIPT KILL all goes on', async (context) => {
  const fleet = await fleetAtWork(context)
  const [strangers, ours] = [fleet.scene.redis.store(), fleet.scene.redis.store()]
  await ours.config('SET', 'lua-time-limit', '500')
  const killed = strangers.eval('while true do end', 0).catch((error: Error) => error.message)
  const seen = await eventually('not ready', async () => {
    const found = await readiness(fleet.daemon)
    return /BUSY/.test(found.failing.redis ?? '') && found
  })
  expect(seen.status).toBe(503)
  const busyAt = Date.now()
  await pause(BUSY_MS)
  expect((await fleet.tokenOf(fleet.daemon, fleet.hubIds[0] as number)).status).toBe(503)
  const during = (await journalOf(fleet.scene.sandbox.url)).filter((entry) => at(entry) > busyAt + 500)
  expect(during.filter(({ endpoint }) => endpoint === 'token')).toEqual([])
  await ours.script('KILL')
  expect(await killed).toContain('killed')
  await isReady(fleet.daemon)
  await fleet.worksSince(Date.now())
  await fleet.expectUnhurt()
})
