import { setTimeout as pause } from 'node:timers/promises'
import { expect, type TestContext, test } from 'vitest'
import { customProperties, eventually, journalOf } from '../../support/fleet.ts'
import { at } from '../../support/look-into.ts'
import { pauses } from '../../support/scene.ts'
import { EARLY, fleetAtWork, isReady, LIFE_MS } from './fleet-at-work.ts'
import { type Orders, startPreloaded } from './preloaded.ts'

const HOUR_MS = 3_600_000
const RULE = 'each account is refreshed twice more at most, none is late; alerts come in time, and none comes twice'

test.concurrent(`the clock jumps an hour forward, and is set right: ${RULE}`, (context) => jump(context, HOUR_MS))

test.concurrent(`the clock jumps an hour back, and is set right: ${RULE}`, (context) => jump(context, -HOUR_MS))

async function jump(context: TestContext, aheadMs: number) {
  const fleet = await fleetWithClock(context)
  const { scene, daemon, hubIds, order } = fleet
  const [hubId = 0] = hubIds
  const setUsage = (usage: number) =>
    fleet.control('PUT', `accounts/${hubId}/custom-properties`, customProperties(usage))
  const toldOfLimits = async () =>
    (await fleet.toldOf(hubId)).filter(({ kind }) => kind === 'limit').map(({ reason }) => reason)
  const areTold = (reasons: string[]) =>
    eventually(`told: ${reasons}`, async () => (await toldOfLimits()).join() === reasons.join())
  await setUsage(900)
  await areTold(['entered'])

  const since = Date.now()
  order({ aheadMs })
  await fleet.worksSince(since)
  await setUsage(960)
  await areTold(['entered', 'escalated'])
  // Long enough for a token to be due by the wrong clock.
  await pause(LIFE_MS / 2)

  const backAt = Date.now()
  order({ aheadMs: 0 })
  await fleet.worksSince(backAt)
  await setUsage(100)
  await areTold(['entered', 'escalated', 'recovered'])
  await isReady(daemon)

  const journal = await journalOf(scene.sandbox.url)
  expect(journal.filter(({ status }) => status >= 400)).toEqual([])
  const regular = (Date.now() - since) / (LIFE_MS * 0.3)
  for (const one of hubIds) {
    const refreshes = journal.filter((entry) => entry.hubId === one && entry.endpoint === 'token' && at(entry) > since)
    expect(refreshes.length).toBeLessThanOrEqual(regular + 2)
  }
  expect(pauses(journal, Date.now()).longest).toBeLessThan(LIFE_MS)
  expect(await fleet.statesOf(daemon)).toEqual({ active: hubIds.length })
  // Its end is told minutes later: another daemon's clock may be the one that is wrong.
  const ofTheClock = (await fleet.told()).filter(({ kind }) => kind === 'fleet').map(({ reason }) => reason)
  expect(ofTheClock).toEqual(['entered'])
}

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
