import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { connectAll, hubIdsOf, journalOf } from '../../support/fleet.ts'
import { lookInto } from '../../support/look-into.ts'
import { say } from '../../support/say.ts'
import { pauses, sceneFor } from '../../support/scene.ts'

const ACCOUNTS = Number(process.env.PLIMSOLL_ACCOUNTS ?? 1_000)
const SECONDS = Number(process.env.PLIMSOLL_FLOOD_SECONDS ?? 120)
const CONNECTIONS = 1_000
const LIFE_MS = 20_000
/** The addresses that ask for no token, and one of each kind that does. */
const ROUTES = [
  'GET:/install',
  'GET:/oauth/callback',
  'GET:/healthz',
  'GET:/readyz',
  'GET:/assets/plimsoll.css',
  'GET:/sign-in',
  'POST:/sign-in',
  'GET:/acknowledge',
  'POST:/acknowledge',
  'GET:/accounts',
  'POST:/accounts/1/poll',
  'GET:/api/v1/status',
  'POST:/api/v1/accounts/1/poll',
]

test(`${CONNECTIONS} connections flood every open route: no token of ${ACCOUNTS} accounts expires, /healthz answers within 2 s`, {
  timeout: (SECONDS + 180) * 1_000,
}, async (context) => {
  const scene = await sceneFor(context, { accounts: ACCOUNTS, tokenLifetimeMs: LIFE_MS })
  const daemon = await scene.daemon()
  const hubIds = await hubIdsOf(scene.sandbox.url)
  await connectAll(daemon.url, hubIds)
  await lookInto(() => scene).allRefreshed(hubIds)

  const begun = Date.now()
  const flooder = fork(new URL('flooder.ts', import.meta.url), [daemon.url, String(CONNECTIONS), ...ROUTES])
  let counts: unknown
  flooder.on('message', (message) => {
    counts = message
  })
  const probes: number[] = []
  while (Date.now() - begun < SECONDS * 1_000) {
    const at = performance.now()
    const { status } = await fetch(`${daemon.url}/healthz`, { signal: AbortSignal.timeout(10_000) })
    probes.push(status === 200 ? Math.round(performance.now() - at) : Number.POSITIVE_INFINITY)
    await pause(500)
  }
  const journal = await journalOf(scene.sandbox.url)
  flooder.disconnect()
  await once(flooder, 'exit')

  const refreshes = journal.filter((one) => one.endpoint === 'token' && Date.parse(one.time) > begun)
  const { longest } = pauses(journal, Date.now())
  say(
    `${SECONDS} s of flood: ${JSON.stringify(counts)}; ${refreshes.length} refreshes, the longest pause of an account ` +
      `${longest} ms of ${LIFE_MS}; /healthz ${probes.length} times, half within ${probes.toSorted((a, b) => a - b)[probes.length >> 1]} ms, all within ${Math.max(...probes)} ms`,
  )
  expect(counts).toMatchObject({ answers: expect.any(Number) })
  expect(daemon.lines.filter((line) => line.includes('"token.expired"'))).toEqual([])
  expect(refreshes.filter(({ status }) => status !== 200)).toEqual([])
  expect(longest).toBeLessThan(LIFE_MS)
  expect(Math.max(...probes)).toBeLessThan(2_000)
})
