import { expect, test } from 'vitest'
import { type TendWork, tendHistory } from '../../jobs/tend-history.ts'
import { DueSets } from '../../src/accounts/due-sets.ts'
import { History } from '../../src/limits/history/history.ts'
import { createMetrics } from '../../src/runtime/metrics.ts'
import { pollAccount, properties, readings } from '../limits/reports.ts'
import { seedAccount } from '../support/accounts.ts'
import { plimsollHere } from '../support/command.ts'
import { goByHand } from '../support/go-by-hand.ts'
import { HandClock } from '../support/hand-clock.ts'
import { logLines } from '../support/log-lines.ts'
import { commandsOfFile } from './commands-of-file.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const installed = commandsOfFile()
const { keys } = installed

/** An account that is polled so often from now on, and whose history is tended once a day, as the daemon does it. */
async function liveAccount(hubId: number, clock: HandClock) {
  const { store } = installed
  goByHand(store, clock)
  await seedAccount(store, keys, { hubId, hubDomain: `d${hubId}.example.com`, obtainedAt: clock.now() })
  await store.zadd(keys.due.history, clock.now(), hubId)
  const deps = {
    store,
    keys,
    clock,
    metrics: createMetrics(),
    log: logLines().log,
    due: new DueSets(store, keys),
    history: new History(store, keys),
    putAside: async () => {},
    historyKeep: { rawMs: 7 * DAY, hourlyMs: 90 * DAY, dailyMs: 800 * DAY },
  } satisfies TendWork
  const show = (...args: string[]) =>
    plimsollHere(['accounts', 'show', String(hubId), ...args, '--config', installed.config], installed.folder, {
      clock,
    })
  return {
    show,
    shown: async () => JSON.parse((await show('--json')).out).series[0],
    live: async (forMs: number, everyMs: number, usageAt: (at: number) => number) => {
      for (const end = clock.now() + forMs; clock.now() < end; clock.move(everyMs)) {
        const report = properties(usageAt(clock.now()), 1_000)
        await pollAccount(store, keys, hubId, clock.now(), readings(clock.now(), report))
        await tendHistory(deps, new AbortController().signal)
      }
    },
  }
}

// Accounts are tended at different times of the day, and growth begins at any.
test.each([11, 47])(
  'growth that begins after flat weeks is foretold within three days, and its end is in the range from then on: account %i',
  async (hubId) => {
    const clock = new HandClock()
    const { live, show, shown } = await liveAccount(hubId, clock)
    await live(20 * DAY, DAY / 4, () => 500)
    expect((await shown()).forecast).toBeNull()
    const begun = clock.now() - HOUR / 2
    const usageAt = (at: number) => 500 + (10 * (at - begun)) / DAY
    let told = 0
    for (; clock.now() - begun < 45 * DAY; ) {
      await live(told === 0 ? 2 * HOUR : 4 * DAY, told === 0 ? HOUR : DAY / 4, (at) => Math.floor(usageAt(at)))
      const { forecast, measuredAt } = await shown()
      if (forecast === null) continue
      told ||= clock.now()
      const truth = (1_000 - usageAt(Date.parse(measuredAt))) / 10
      expect(Math.floor(forecast.earliest)).toBeLessThanOrEqual(truth)
      expect(Math.ceil(forecast.latest ?? 9_999)).toBeGreaterThanOrEqual(truth)
      if (told === clock.now())
        expect((await show()).out).toMatch(/Custom properties +5\d\d +1,000 +5\d(\.\d)? +\d\d days \(\d+ or more\)/)
    }
    expect(told - begun).toBeGreaterThan(0)
    expect(told - begun).toBeLessThanOrEqual(3 * DAY)
  },
)
