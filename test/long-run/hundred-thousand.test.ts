import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { probePages } from '../bench/page-probe.ts'
import { openSteadyFleet, REAL_LIFE_SECONDS, type SteadyFleet, TICK_MS } from '../bench/steady-fleet.ts'
import { say } from '../support/say.ts'

const ACCOUNTS = Number(process.env.PLIMSOLL_FLEET ?? 100_000)
const SECONDS = Number(process.env.PLIMSOLL_SECONDS ?? 240)
const REPORT_EVERY_MS = 15_000
/** Later than this hardly anybody may be. */
const MOST_TICKS = 1.5
/** Whoever looks at a page meanwhile waits no longer, ms. */
const PATIENCE_MS = 1_000

test('100,000 accounts are refreshed in time by one daemon, and whoever looks meanwhile is answered', async ({
  onTestFinished,
}) => {
  const fleet = await openSteadyFleet(ACCOUNTS)
  onTestFinished(() => fleet.close())
  const factor = REAL_LIFE_SECONDS / fleet.lifeSeconds
  say(
    `one daemon refreshes ${Math.round(fleet.capacity)} accounts a second here; tokens live for ${fleet.lifeSeconds} s, ` +
      `${factor.toFixed(0)} times shorter than 30 minutes; a tick is ${TICK_MS} ms`,
  )
  const probe = probePages(fleet)
  const windows = await watch(fleet, SECONDS)
  const pages = await probe.times()
  for (const { path, answers, p50, p99 } of pages)
    say(`${path}: ${answers} answers, p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`)

  say(`p99 of the whole run: ${((windows.at(-1)?.p99OfAll ?? 0) / TICK_MS).toFixed(2)} ticks`)

  const sum = (of: 'refreshes' | 'expired') => windows.reduce((total, window) => total + window[of], 0)
  expect(sum('expired')).toBe(0)
  expect(windows.at(-1)?.ended).toBe(0)
  // Everybody several times.
  expect(sum('refreshes')).toBeGreaterThan((2 * ACCOUNTS * SECONDS) / (3 * fleet.lifeSeconds))
  expect(windows.at(-1)?.p99OfAll).toBeLessThan(MOST_TICKS * TICK_MS)
  for (const page of pages) expect(page.p99, page.path).toBeLessThan(PATIENCE_MS)
})

async function watch(fleet: SteadyFleet, seconds: number): Promise<Awaited<ReturnType<SteadyFleet['seen']>>[]> {
  const windows = []
  for (const end = Date.now() + seconds * 1_000; Date.now() < end; ) {
    const cpuBefore = fleet.cpuSeconds()
    await pause(REPORT_EVERY_MS)
    const seen = await fleet.seen()
    windows.push(seen)
    const ticks = (ms: number) => `${ms.toFixed(0)} ms (${(ms / TICK_MS).toFixed(2)} ticks)`
    const cpu = (fleet.cpuSeconds() - cpuBefore) / (REPORT_EVERY_MS / 1_000)
    say(
      `${seen.refreshes} refreshes, ${seen.polls} polls, ${cpu.toFixed(2)} CPUs; late p50 ${ticks(seen.p50)}, ` +
        `p99 ${ticks(seen.p99)}, most ${ticks(seen.max)}; ${seen.expired + seen.ended} ended; ` +
        `least left ${(seen.leastLeft * 100).toFixed(0)} % of a life`,
    )
  }
  return windows
}
