import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { eventually } from '../../support/fleet.ts'
import { startPreloaded } from '../../support/preloaded-daemon.ts'
import { openEmbedded, startWithEmbedded } from './embedded-redis.ts'
import { EARLY, fleetAtWork, isReady, readiness } from './fleet-at-work.ts'

/** Shorter than a claim (25 s). */
const STOPPED_MS = 6_000
/** What a machine has claimed is taken over while the tokens are good. */
const LONG_LIFE = { tokenLifetimeMs: 90_000 }

test.concurrent('one of two machines is frozen amid refreshes (SIGSTOP), for longer than its claims: the other takes over, and no token is sent twice', async (context) => {
  const fleet = await fleetAtWork(context, undefined, LONG_LIFE)
  const { scene, daemon: frozen, hubIds } = fleet
  const [hubId = 0] = hubIds
  // Its call is on the way when the machine freezes, and comes to nothing.
  await fleet.addFault({ endpoint: 'token', hubId, delayMs: 5_000, drop: true, times: 1 })
  await fleet.faultMet(hubId)
  const frozenAt = Date.now()
  frozen.child.kill('SIGSTOP')
  const other = await scene.daemon(EARLY)
  await fleet.refreshedSince(hubIds, frozenAt)
  const thawedAt = Date.now()
  frozen.child.kill('SIGCONT')
  await isReady(frozen)
  await fleet.refreshedSince(hubIds, thawedAt)
  await fleet.expectUnhurt([frozen, other])
  expect((await fleet.told()).filter(({ kind }) => kind === 'token')).toEqual([])
})

test.concurrent('the event loop of the one daemon is blocked for six seconds: what it held is fenced, and nobody expires', async (context) => {
  let order = (_: { blockedUntil: number }) => {}
  const fleet = await fleetAtWork(context, async (scene) => {
    const preloaded = await startPreloaded(scene, 'blocked', EARLY)
    context.onTestFinished(async () => {
      await preloaded.daemon.stop()
    })
    order = preloaded.order
    return preloaded.daemon
  })
  order({ blockedUntil: Date.now() + STOPPED_MS })
  await pause(1_000)
  // A probe with a deadline, as every monitoring system has one.
  const probe = fetch(`${fleet.daemon.url}/healthz`, { signal: AbortSignal.timeout(2_000) })
  await expect(probe).rejects.toThrow()
  await eventually('it answers', async () => (await fetch(`${fleet.daemon.url}/healthz`)).status === 200)
  await fleet.worksSince(Date.now())
  await fleet.expectUnhurt()
})

test.concurrent('the embedded Redis is frozen for six seconds: /readyz says so, nothing is redeemed twice, and all goes on', async (context) => {
  const fleet = await fleetAtWork(context, (scene) => startWithEmbedded(context, scene))
  const { pid: server } = await openEmbedded(context, fleet.scene)
  const frozenAt = Date.now()
  process.kill(server, 'SIGSTOP')
  const seen = await eventually('not ready', async () => {
    const found = await readiness(fleet.daemon)
    return found.status === 503 && found
  })
  expect(seen.failing.redis).toBe('does not answer')
  await pause(Math.max(0, frozenAt + STOPPED_MS - Date.now()))
  process.kill(server, 'SIGCONT')
  await isReady(fleet.daemon)
  await fleet.worksSince(Date.now())
  await fleet.expectUnhurt()
})
