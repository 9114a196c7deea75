import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { ask, connectAll, eventually, hooksOf, hubIdsOf, journalOf } from '../support/fleet.ts'
import { openScene, pauses, refreshTimes, type Scene } from '../support/scene.ts'

/** How long the fleet is watched; the full run is PLIMSOLL_WATCH_SECONDS=180. */
const WATCH_MS = Number(process.env.PLIMSOLL_WATCH_SECONDS ?? 35) * 1_000
/** Long enough that a machine which others keep busy is not late by half of it. */
const LIFE_MS = 30_000
const ACCOUNTS = 100
/** Often enough that each token is used several times. */
const SETTINGS = { limits: { every: '6s' } }

let scene: Scene
afterEach(() => scene.close())

test('two daemons on one Redis refresh each account once per life, and no request is ever answered 401', {
  timeout: WATCH_MS + 120_000,
}, async () => {
  scene = await openScene({ accounts: ACCOUNTS, tokenLifetimeMs: LIFE_MS })
  const { sandbox } = scene
  const [first, second] = await Promise.all([scene.daemon(SETTINGS), scene.daemon(SETTINGS)])
  await connectAll(first.url, await hubIdsOf(sandbox.url))
  // The one wait that is the subject itself: how the fleet fares for so long.
  await pause(WATCH_MS)

  const journal = await journalOf(sandbox.url)
  const now = Date.now()
  expect(journal.filter(({ status }) => status === 401)).toEqual([])
  expect(refreshTimes(journal).size).toBe(ACCOUNTS)
  const { shortest, longest } = pauses(journal, now)
  // Half a life is the early window's beginning: twice within it would be twice for one token.
  expect(shortest).toBeGreaterThan(LIFE_MS * 0.5 - 250)
  expect(longest).toBeLessThan(LIFE_MS)
  expect(first.lines.concat(second.lines).filter((line) => /token\.expired/.test(line))).toEqual([])
})

test('when one of two daemons is killed no account misses its refresh and no alert is missing', async () => {
  scene = await openScene({ accounts: 60, tokenLifetimeMs: LIFE_MS, scenario: 'climbing' })
  const { sandbox } = scene
  const [victim, survivor] = await Promise.all([scene.daemon(SETTINGS), scene.daemon(SETTINGS)])
  await connectAll(survivor.url, await hubIdsOf(sandbox.url))
  await eventually('alerts under way', async () => (await hooksOf(sandbox.url)).length > 20)
  await victim.kill()
  const killedAt = Date.now()
  await eventually(
    'every account refreshed twice since the kill',
    async () => {
      const times = refreshTimes(await journalOf(sandbox.url))
      return [...times.values()].every((at) => at.filter((time) => time > killedAt).length >= 2)
    },
    120_000,
  )
  const journal = await journalOf(sandbox.url)
  expect(journal.filter(({ status }) => status === 401)).toEqual([])
  expect(pauses(journal, Date.now()).longest).toBeLessThan(LIFE_MS)

  // Every alert is one message of a series' story; a gap in its numbering would be an alert that is missing.
  const stories = await eventually('a quiet outbox', async () => {
    const told = (await hooksOf(sandbox.url)).flatMap(({ body }) => body.data.alerts)
    const open = (await ask(`${survivor.url}/api/v1/alerts`).then((r) => r.json())) as { items: { id: string }[] }
    const ids = new Set(told.flatMap(({ id, supersedes = [] }) => [id, ...supersedes]))
    const alerts = new Set(told.map(({ id }) => id.split('-')[0]))
    return open.items.every(({ id }) => alerts.has(id)) && ids
  })
  for (const id of stories) {
    const [alert, number] = id.split('-')
    for (let n = 1; n < Number(number); n++) expect(stories, `message ${n} of ${alert}`).toContain(`${alert}-${n}`)
  }
})
