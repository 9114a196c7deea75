import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { eventually, journalOf } from '../../support/fleet.ts'
import { startPreloaded } from '../../support/preloaded-daemon.ts'
import { openEmbedded, startWithEmbedded } from './embedded-redis.ts'
import { EARLY, fleetAtWork, isReady, readiness } from './fleet-at-work.ts'

/** Shorter than a claim (25 s): what a stopped machine has claimed waits for it. */
const STOPPED_MS = 6_000

test.concurrent('one of two machines is frozen amid refreshes (SIGSTOP): the other takes over, and nothing late does harm', async (context) => {
  const fleet = await fleetAtWork(context)
  const { scene, daemon: frozen, hubIds } = fleet
  const other = await scene.daemon(EARLY)
  const [hubId = 0] = hubIds
  // Its answer is on the way when the machine freezes, and the old token is dead by then.
  await fleet.addFault({ endpoint: 'token', hubId, after: true, delayMs: 1_000, times: 1 })
  await fleet.faultMet(hubId)
  const frozenAt = Date.now()
  frozen.child.kill('SIGSTOP')
  await pause(STOPPED_MS)
  frozen.child.kill('SIGCONT')
  await fleet.refreshedSince(hubIds, frozenAt)
  await eventually('all active', async () => (await fleet.statesOf(other)).active === hubIds.length)
  await isReady(frozen)
  expect(await fleet.statesOf(frozen)).toEqual({ active: hubIds.length })
  // The one whose answer was frozen is refused to the other daemon, as if it were lost; thawed, the answer is stored all the same.
  const refused = (await journalOf(scene.sandbox.url)).filter(({ status }) => status >= 400)
  expect(new Set(refused.map((entry) => entry.hubId)).size).toBeLessThanOrEqual(1)
  const ofTokens = async () => (await fleet.told()).filter(({ kind }) => kind === 'token')
  await eventually('the end of what was told, if anything was', async () =>
    ['recovered', undefined].includes((await ofTokens()).at(-1)?.reason),
  )
  expect((await ofTokens()).every(({ account }) => account?.hubId === hubId)).toBe(true)
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
