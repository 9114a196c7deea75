import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import type { Daemon } from '../support/daemon.ts'
import { connectAll, eventually, getJson, hubIdsOf, type JournalEntry, journalOf } from '../support/fleet.ts'
import { say } from '../support/say.ts'
import { openScene, pauses, refreshTimes, type Scene } from '../support/scene.ts'

/** PLIMSOLL_FULL=1: 1,000 accounts for five minutes, in which Redis crashes twice. */
const FULL = process.env.PLIMSOLL_FULL === '1'
const ACCOUNTS = FULL ? 1_000 : 300
const WATCH_MS = FULL ? 300_000 : 20_000
/** The full form outlasts three claims of 25 s: whoever claims what a killed daemon had may be killed, too. */
const LIFE_MS = FULL ? 120_000 : 30_000
const CRASHES = FULL ? 2 : 1
const DAEMONS = 4

let scene: Scene
afterEach(() => scene.close())

/** Every second one has no chance to clean up; the others are told to stop. */
test('four daemons of which one is ended every few seconds, and a Redis that crashes, lose no account but one whose call was under way at a kill, and tell of it', {
  timeout: WATCH_MS + 240_000,
}, async () => {
  scene = await openScene({ accounts: ACCOUNTS, tokenLifetimeMs: LIFE_MS, rotateRefreshTokens: true })
  const { sandbox, redis } = scene
  const settings = { limits: { every: '1m' } }
  const daemons = await Promise.all(Array.from({ length: DAEMONS }, () => scene.daemon(settings)))
  const everything: Daemon[] = [...daemons]
  const [first] = daemons as [Daemon]
  const hubIds = await hubIdsOf(sandbox.url)
  await connectAll(first.url, hubIds)
  const connectedAt = Date.now()

  let ends = 0
  let crashes = 0
  // The subject itself: five minutes of this.
  while (Date.now() < connectedAt + WATCH_MS) {
    await pause(FULL ? 2_000 + Math.random() * 3_000 : 500 + Math.random() * 2_500)
    const victim = Math.floor(Math.random() * DAEMONS)
    if (ends % 2 === 0) await daemons[victim]?.kill()
    else expect(await daemons[victim]?.stop()).toBe(0)
    ends++
    const next = await scene.daemon(settings)
    daemons[victim] = next
    everything.push(next)
    if (crashes < CRASHES && Date.now() > connectedAt + ((crashes + 1) * WATCH_MS) / (CRASHES + 1)) {
      crashes++
      await redis.end('SIGKILL')
      await redis.again()
    }
  }
  const endedAt = Date.now()
  const [survivor] = daemons as [Daemon]
  await eventually('every account that is alive refreshed since', async () => {
    const times = refreshTimes(await journalOf(sandbox.url))
    const { accounts } = await getJson<{ accounts: { byState: Record<string, number> } }>(
      `${survivor.url}/api/v1/status`,
    )
    const alive = hubIds.filter((hubId) => times.get(hubId)?.some((at) => at > endedAt)).length
    return alive >= (accounts.byState.active ?? 0) && (accounts.byState.active ?? 0) > ACCOUNTS * 0.9
  })

  const journal = await journalOf(sandbox.url)
  const lines = everything.flatMap((daemon) => daemon.lines)
  const interrupted = accountsIn(lines, 'token.interrupted')
  const refusedTwice = refused(journal)
  const lost = [...refusedTwice]
  const { longest } = pauses(
    journal.filter(({ hubId }) => hubId !== null && !lost.includes(hubId)),
    endedAt,
  )
  say(
    `${ACCOUNTS} accounts, ${ends} daemons ended, half of them killed, ${crashes} crashes of Redis, ${journal.filter(({ endpoint }) => endpoint === 'token').length} ` +
      `token requests in ${Math.round((endedAt - connectedAt) / 1000)} s: accounts lost ${lost.length}, ` +
      `refreshes interrupted ${interrupted.size}, longest ` +
      `pause between two refreshes of one account ${(longest / 1000).toFixed(1)} s of ${LIFE_MS / 1000} s`,
  )
  // What a killed daemon had heard and not stored is gone: at most what was under way, and each is told of.
  expect(lost.filter((hubId) => !interrupted.has(hubId))).toEqual([])
  await Promise.all(daemons.map((daemon) => daemon.stop()))
  expect(longest).toBeLessThan(LIFE_MS)
  expect(journal.filter(({ status, hubId }) => status === 401 && !lost.includes(hubId ?? 0))).toEqual([])
})

/** Accounts whose refresh token was refused: it had been redeemed before. */
function refused(journal: readonly JournalEntry[]): Set<number> {
  const found = journal.filter(({ endpoint, status }) => endpoint === 'token' && status === 400)
  return new Set(found.map(({ hubId }) => hubId ?? 0))
}

function accountsIn(lines: readonly string[], code: string): Set<number> {
  const found = lines.filter((line) => line.includes(`"${code}"`)).map((line) => JSON.parse(line) as { hubId: number })
  return new Set(found.map(({ hubId }) => hubId))
}
