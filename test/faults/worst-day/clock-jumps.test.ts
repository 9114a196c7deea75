import { setTimeout as pause } from 'node:timers/promises'
import { expect, type TestContext, test } from 'vitest'
import { customProperties, eventually, journalOf } from '../../support/fleet.ts'
import { at } from '../../support/look-into.ts'
import { EARLY, fleetAtWork, isReady, LIFE_MS } from './fleet-at-work.ts'
import { type Orders, startPreloaded } from './preloaded.ts'

const HOUR_MS = 3_600_000

async function fleetWithClock(context: TestContext) {
  let order: (orders: Orders) => void = () => {}
  const fleet = await fleetAtWork(context, async (scene) => {
    const preloaded = await startPreloaded(scene, 'clock', EARLY)
    context.onTestFinished(async () => {
      await preloaded.daemon.stop()
    })
    order = preloaded.order
    return preloaded.daemon
  })
  return { ...fleet, order: (orders: Orders) => order(orders) }
}

test.concurrent.for([
  { which: 'forward', aheadMs: HOUR_MS },
  { which: 'back', aheadMs: -HOUR_MS },
])(
  'the clock jumps an hour $which, and later to where it was: two more refreshes of an account at most, none is late, no alert comes twice',
  async ({ aheadMs }, context) => {
    const fleet = await fleetWithClock(context)
    const { scene, daemon, hubIds, order } = fleet
    const [hubId = 0] = hubIds
    await fleet.control('PUT', `accounts/${hubId}/custom-properties`, customProperties(900))
    await eventually('the alert', async () => (await fleet.toldOf(hubId)).length > 0)

    const since = Date.now()
    order({ aheadMs })
    await fleet.worksSince(since)
    // Half a life by the wrong clock.
    await pause(LIFE_MS / 2)
    const backAt = Date.now()
    order({ aheadMs: 0 })
    await fleet.worksSince(backAt)
    await isReady(daemon)

    const journal = await journalOf(scene.sandbox.url)
    expect(journal.filter(({ status }) => status >= 400)).toEqual([])
    const lives = (Date.now() - since) / (LIFE_MS * 0.3)
    for (const one of hubIds) {
      const refreshes = journal.filter(
        (entry) => entry.hubId === one && entry.endpoint === 'token' && at(entry) > since,
      )
      expect(refreshes.length).toBeLessThanOrEqual(lives + 2)
    }
    const toldOnce = await fleet.toldOf(hubId)
    expect(toldOnce.map(({ reason, kind, id, level, series }) => ({ reason, kind, id, level, series }))).toEqual([])
    expect(await fleet.statesOf(daemon)).toEqual({ active: hubIds.length })
  },
)
