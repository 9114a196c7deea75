import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { connectAll, eventually, hubIdsOf, type JournalEntry, journalOf, send } from '../support/fleet.ts'
import { say } from '../support/say.ts'
import { openScene, type Scene } from '../support/scene.ts'

const ACCOUNTS = 60
const EVERY_MS = 2_000
const RETRY_AFTER_MS = 3_000
const QUIET_MS = 8_000
const FLOOD_MS = 10_500
/** Calls of one poll follow each other at once. */
const ONE_POLL_MS = 1_000
/**
 * Sweeps come by half seconds, so a poll that ends a moment later than usual makes the next one late by one of them, also
 * where nothing is wrong: two are noise. Whoever waited with the account that is told to wait would be late by seconds.
 */
const NOISE_MS = 1_000

let scene: Scene
afterEach(() => scene.close())

/** When each account's custom properties were asked for, once a poll, by account. */
function pollTimes(journal: readonly JournalEntry[]): Map<number, number[]> {
  const times = new Map<number, number[]>()
  for (const { endpoint, hubId, time } of journal) {
    if (endpoint !== 'customProperties' || hubId === null) continue
    times.set(hubId, [...(times.get(hubId) ?? []), Date.parse(time)])
  }
  return times
}

/** By how much 99 of 100 polls that began between two moments were later than they should have been, at most, ms. */
function latenessP99(times: Map<number, number[]>, from: number, to: number): number {
  const late = [...times.values()]
    .flatMap((at) => at.slice(1).map((time, n) => ({ time, ms: time - (at[n] as number) - EVERY_MS })))
    .filter(({ time }) => time >= from && time < to)
    .map(({ ms }) => ms)
    .sort((a, b) => a - b)
  // Fewer would mean that polls are missing, not that they are in time.
  expect(late.length).toBeGreaterThan(((ACCOUNTS - 1) * (to - from)) / EVERY_MS / 2)
  return late[Math.ceil(late.length * 0.99) - 1] as number
}

test('an account that answers only 429 is asked again when it says, and the polls of the others are as punctual as before', async () => {
  scene = await openScene({ accounts: ACCOUNTS, tokenLifetimeMs: 1_800_000 })
  const { url } = scene.sandbox
  const daemon = await scene.daemon()
  const hubIds = await hubIdsOf(url)
  const [flooded = 0, ...others] = hubIds
  await connectAll(daemon.url, hubIds)
  await eventually('three polls of every account', async () => {
    const times = pollTimes(await journalOf(url))
    return hubIds.every((hubId) => (times.get(hubId)?.length ?? 0) >= 3)
  })

  // The two waits that are the subject itself: how the fleet fares for so long.
  const quietFrom = Date.now()
  await pause(QUIET_MS)
  const floodFrom = Date.now()
  for (const endpoint of ['customProperties', 'associations']) {
    const fault = { endpoint, hubId: flooded, status: 429, headers: { 'Retry-After': RETRY_AFTER_MS / 1_000 } }
    await send(`${url}/sandbox/faults`, 'POST', fault)
  }
  await pause(FLOOD_MS)
  const until = Date.now()
  const journal = await journalOf(url)

  const refused = journal.filter(({ hubId, status }) => hubId === flooded && status === 429)
  const gaps = refused.slice(1).map(({ time }, n) => Date.parse(time) - Date.parse(refused[n]?.time ?? ''))
  const between = gaps.filter((gap) => gap > ONE_POLL_MS)
  expect(between.length).toBeGreaterThanOrEqual(2)
  expect(Math.min(...between)).toBeGreaterThanOrEqual(RETRY_AFTER_MS)
  expect(Math.max(...between)).toBeLessThan(RETRY_AFTER_MS + 2_000)
  // Both calls of a poll may be under way before the first is refused; no more than these are.
  expect(refused.length).toBeLessThanOrEqual(2 * (between.length + 1))
  expect(journal.filter(({ hubId, status }) => hubId !== flooded && status === 429)).toEqual([])

  const times = pollTimes(journal.filter(({ hubId }) => others.includes(hubId ?? 0)))
  const before = latenessP99(times, quietFrom, floodFrom)
  const meanwhile = latenessP99(times, floodFrom, until)
  say(
    `one of ${ACCOUNTS} accounts answered only 429: the other polls' lateness p99 was ${before} ms before and ` +
      `${meanwhile} ms meanwhile; ${refused.length} calls to it in ${FLOOD_MS / 1_000} s`,
  )
  expect(meanwhile).toBeLessThan(before + NOISE_MS)

  await send(`${url}/sandbox/faults`, 'DELETE')
  await eventually('a good answer of the account that was refused', async () =>
    (await journalOf(url)).some(
      ({ hubId, time, endpoint, status }) =>
        hubId === flooded && endpoint === 'associations' && status === 200 && Date.parse(time) > until,
    ),
  )
})
