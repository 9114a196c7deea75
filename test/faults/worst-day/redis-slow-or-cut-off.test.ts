import { setTimeout as pause } from 'node:timers/promises'
import { expect, type TestContext, test } from 'vitest'
import { eventually, hooksOf, journalOf } from '../../support/fleet.ts'
import { at } from '../../support/look-into.ts'
import { startRedis } from '../../support/redis-server.ts'
import type { Scene } from '../../support/scene.ts'
import { EARLY, fleetAtWork, isReady, LIFE_MS, readiness } from './fleet-at-work.ts'
import { type RedisProxy, startRedisProxy } from './redis-proxy.ts'

/** A refresh that it had begun may still come to its end. */
const LAST_OF_ITS_OWN_MS = 2_500

/** A fleet whose daemon reaches Redis through a proxy. */
async function fleetBehindProxy(context: TestContext, settings: Record<string, object> = EARLY, lifeMs = LIFE_MS) {
  let proxy: RedisProxy | undefined
  const start = async (scene: Scene) => {
    proxy = await startRedisProxy(scene.redis.port)
    return scene.daemon({ ...settings, redis: { url: proxy.url } })
  }
  const fleet = await fleetAtWork(context, start, { tokenLifetimeMs: lifeMs })
  const theProxy = proxy as RedisProxy
  context.onTestFinished(() => theProxy.close())
  return { ...fleet, proxy: theProxy }
}

test.concurrent('each command takes half a second: every token is refreshed in time, once', async (context) => {
  // A refresh is a chain of some twenty commands, and so ten seconds late: much of a life of seconds, nothing of half an hour.
  const fleet = await fleetBehindProxy(context, { ...EARLY, tokens: { refreshFrom: '5%', refreshBy: '25%' } }, 60_000)
  fleet.proxy.delayMs = 500
  await fleet.worksSince(Date.now())
  fleet.proxy.delayMs = 0
  await isReady(fleet.daemon)
  await fleet.expectUnhurt()
})

test.concurrent('each command takes two seconds, much of a claim: what is late is not redeemed twice, and all is well once it is quick again', async (context) => {
  const fleet = await fleetBehindProxy(context)
  fleet.proxy.delayMs = 2_000
  expect(await eventually('not ready', async () => (await readiness(fleet.daemon)).status === 503)).toBe(true)
  // The fault itself: half a life.
  await pause(8_000)
  fleet.proxy.delayMs = 0
  await isReady(fleet.daemon)
  await fleet.worksSince(Date.now())
  expect((await journalOf(fleet.scene.sandbox.url)).filter(({ status }) => status >= 400)).toEqual([])
  expect(await fleet.statesOf(fleet.daemon)).toEqual({ active: fleet.hubIds.length })
})

test.concurrent('one of two daemons is cut off from Redis: the other one takes over, it redeems nothing, and joins in again', async (context) => {
  const fleet = await fleetBehindProxy(context)
  const { scene, daemon: alone, proxy } = fleet
  const other = await scene.daemon(EARLY)
  proxy.cut()
  const cutAt = Date.now()
  await fleet.refreshedSince(fleet.hubIds, cutAt + LAST_OF_ITS_OWN_MS)
  expect((await readiness(alone)).status).toBe(503)
  expect((await readiness(other)).status).toBe(200)
  proxy.mend()
  await isReady(alone)
  await fleet.worksSince(Date.now())
  await fleet.expectUnhurt([other, alone])
  expect(await hooksOf(scene.sandbox.url)).toEqual([])
})

test.concurrent('Redis moves and its name leads to the new one: a daemon that still talks to the old one, now a replica, goes over', async (context) => {
  const fleet = await fleetBehindProxy(context)
  const { scene, proxy } = fleet
  const next = await startRedis(undefined, ['--dir', scene.folder])
  context.onTestFinished(() => next.stop())
  const [before, after] = [scene.redis.connect(), next.connect()]
  await after.replicaof('127.0.0.1', scene.redis.port)
  await eventually('the copy', async () => /master_link_status:up/.test(await after.info('replication')))
  await after.replicaof('NO', 'ONE')
  proxy.target = next.port
  await before.replicaof('127.0.0.1', next.port)
  const movedAt = Date.now()
  await fleet.worksSince(movedAt)
  await isReady(fleet.daemon)
  await fleet.expectUnhurt()
  expect((await journalOf(scene.sandbox.url)).filter((entry) => at(entry) > movedAt && entry.status >= 400)).toEqual([])
})
