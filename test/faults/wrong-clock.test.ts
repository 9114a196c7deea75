import { setTimeout as pause } from 'node:timers/promises'
import { expect, type TestContext, test } from 'vitest'
import { ask, connectAll, customProperties, eventually, hubIdsOf, journalOf } from '../support/fleet.ts'
import { at, lookInto } from '../support/look-into.ts'
import { startPreloaded } from '../support/preloaded-daemon.ts'
import { pauses, refreshTimes, type Scene, sceneFor } from '../support/scene.ts'

const HOUR_MS = 3_600_000
/** Whatever a daemon had claimed, or put off, is taken up within so long. */
const SOON_MS = 120_000
const LIFE_MS = 30_000
const ACCOUNTS = 10
const EARLY = { tokens: { refreshFrom: '20%', refreshBy: '40%' }, limits: { every: '2s' } }

/** A daemon whose machine shows another time, from before its start on. */
async function startWrong(context: TestContext, scene: Scene, aheadMs: number, settings: Record<string, object>) {
  const wrong = await startPreloaded(scene, `wrong-${aheadMs}`, settings, { aheadMs })
  context.onTestFinished(async () => {
    await wrong.daemon.kill()
  })
  return wrong
}

const ENDS = ['is set right', 'is right again after a kill'] as const
const CASES = [6, -6].flatMap((hours) => ENDS.map((ends) => ({ hours, ends })))

test.concurrent.for(CASES)(
  'a clock that is $hours hours ahead and $ends holds up no refresh, no poll, no uninstall and no delivery',
  async ({ hours, ends }, context) => {
    const scene = await sceneFor(context, { accounts: ACCOUNTS, tokenLifetimeMs: LIFE_MS })
    const look = lookInto(() => scene)
    const wrong = await startWrong(context, scene, hours * HOUR_MS, EARLY)
    const hubIds = await hubIdsOf(scene.sandbox.url)
    await connectAll(wrong.daemon.url, hubIds)
    await look.allRefreshed(hubIds)

    const [alerting = 0, leaving = 0] = hubIds
    const staying = hubIds.filter((hubId) => hubId !== leaving)
    await look.addFault({ endpoint: 'hooks', status: 500 })
    await look.addFault({ endpoint: 'delete', status: 503 })
    const since = wrong.daemon.lines.length
    await look.control('PUT', `accounts/${alerting}/custom-properties`, customProperties(900))
    await ask(`${wrong.daemon.url}/api/v1/accounts/${leaving}/uninstall`, { method: 'POST' })
    await wrong.daemon.line(/"delivery\.retry".*ops-hook/, since)
    await wrong.daemon.line(/"uninstall\./, since)

    const rightAt = Date.now()
    await look.control('DELETE', 'faults')
    if (ends === 'is set right') wrong.order({ aheadMs: 0 })
    else await wrong.daemon.kill()
    const daemon = ends === 'is set right' ? wrong.daemon : await scene.daemon(EARLY)

    const arePolled = async () => {
      const polls = (await journalOf(scene.sandbox.url)).filter((entry) => entry.endpoint === 'customProperties')
      return staying.every((hubId) => polls.some((entry) => entry.hubId === hubId && at(entry) > rightAt))
    }
    await look.refreshedSince(staying, rightAt)
    await eventually('a poll of each', arePolled, SOON_MS)
    await look.inState(daemon, leaving, 'uninstalled')
    await eventually('the alert', async () => (await look.toldOf(alerting)).length > 0, SOON_MS)
    expect(Date.now() - rightAt).toBeLessThan(SOON_MS)

    const journal = await journalOf(scene.sandbox.url)
    expect(journal.filter(({ status, endpoint }) => status >= 400 && endpoint !== 'delete')).toEqual([])
    const ofStaying = journal.filter(({ hubId }) => hubId !== leaving)
    // After a kill it depends on how soon the next daemon starts, too.
    if (ends === 'is set right') expect(pauses(ofStaying, Date.now()).longest).toBeLessThan(LIFE_MS)
    expect(await look.statesOf(daemon)).toEqual({ active: staying.length, uninstalled: 1 })
  },
)

test.concurrent('three daemons with clocks that are hours apart refresh each account once in its time', async (context) => {
  const scene = await sceneFor(context, { accounts: ACCOUNTS, tokenLifetimeMs: LIFE_MS })
  const settings = { limits: { every: '6s' } }
  const started = [6, -6].map((hours) => startWrong(context, scene, hours * HOUR_MS, settings))
  const [right, ...wrong] = await Promise.all([scene.daemon(settings), ...started])
  await connectAll(right.url, await hubIdsOf(scene.sandbox.url))
  // The one wait that is the subject itself: how the fleet fares for so long.
  await pause(2 * LIFE_MS)

  const journal = await journalOf(scene.sandbox.url)
  const now = Date.now()
  expect(journal.filter(({ status }) => status >= 400)).toEqual([])
  expect(refreshTimes(journal).size).toBe(ACCOUNTS)
  const { shortest, longest } = pauses(journal, now)
  // Half a life is the early window's beginning: twice within it would be twice for one token.
  expect(shortest).toBeGreaterThan(LIFE_MS * 0.5 - 250)
  expect(longest).toBeLessThan(LIFE_MS)
  const lines = [right, ...wrong.map(({ daemon }) => daemon)].flatMap(({ lines }) => lines)
  expect(lines.filter((line) => /"token\.expired"/.test(line))).toEqual([])
})
