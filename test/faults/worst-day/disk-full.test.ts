import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { spawnDaemon } from '../../support/daemon.ts'
import { connectAll, eventually, hubIdsOf, journalOf } from '../../support/fleet.ts'
import { at } from '../../support/look-into.ts'
import { sceneFor } from '../../support/scene.ts'
import { makeRoom, openEmbedded, serverOnSmallDisk, startWithEmbedded } from './embedded-redis.ts'
import { fleetAtWork, isReady, readiness } from './fleet-at-work.ts'

const DISK_BYTES = 4_000_000
const FULL_MS = 5_000

test.concurrent('the disk of the embedded Redis is full (MISCONF): nothing is redeemed that could not be stored, and it goes on once there is room', async (context) => {
  const fleet = await fleetAtWork(context, (scene) =>
    startWithEmbedded(context, scene, { REDIS_SERVER_BIN: serverOnSmallDisk(scene, DISK_BYTES) }),
  )
  const { redis, pid } = await openEmbedded(context, fleet.scene)
  const seen = await eventually('not ready', async () => {
    // It says so with the next write to its file, a second later.
    await redis.set('filler', 'x'.repeat(1_000_000)).catch(() => undefined)
    const found = await readiness(fleet.daemon)
    return found.status === 503 && found
  })
  expect(seen.failing.redis).toMatch(/^refuses: MISCONF /)
  const fullAt = Date.now()
  await pause(FULL_MS)
  const during = (await journalOf(fleet.scene.sandbox.url)).filter((entry) => at(entry) > fullAt + 500)
  expect(during.filter(({ endpoint }) => endpoint === 'token')).toEqual([])
  await makeRoom(pid)
  await isReady(fleet.daemon)
  await fleet.worksSince(Date.now())
  await fleet.expectUnhurt()
})

test.concurrent('the disk of log.file is full: the daemon says so once on its error output, and works on', async (context) => {
  const scene = await sceneFor(context, { accounts: 3, tokenLifetimeMs: 10_000 })
  const file = await scene.configFile({ log: { file: '/dev/full' } })
  const daemon = spawnDaemon(file)
  context.onTestFinished(async () => {
    expect(await daemon.stop()).toBe(0)
  })
  const url = `http://127.0.0.1:${/plimsoll-(\d+)\.yaml$/.exec(file)?.[1]}`
  const isThere = async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.status === 200
  await eventually('ready', isThere, 90_000)
  const hubIds = await hubIdsOf(scene.sandbox.url)
  await connectAll(url, hubIds)
  await eventually('refreshes', async () => {
    const refreshed = (await journalOf(scene.sandbox.url)).filter(({ grant }) => grant === 'refresh_token')
    return new Set(refreshed.map(({ hubId }) => hubId)).size === hubIds.length
  })
  expect(daemon.lines.filter((line) => line.includes('the log file takes nothing'))).toHaveLength(1)
})
