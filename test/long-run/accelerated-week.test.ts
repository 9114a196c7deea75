import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { WEBHOOK_SECRET } from '../support/daemon.ts'
import { FIRST_HUB_ID, lifeUntilDue, plan, seedFleet } from '../support/many-accounts.ts'
import { say } from '../support/say.ts'
import { startWholeDaemon, type WholeDaemon } from '../support/whole-daemon.ts'
import { beginNextDay, hurryPolls } from './hurry.ts'
import { isRising, type Look, lineOf, startLooking } from './look.ts'
import { LIFE_MS, startWeekProvider, type WeekProvider } from './week-provider.ts'

const ACCOUNTS = 100
/** What a week brings to an account whose tokens live for 30 minutes and that is polled every 15. */
const WEEK = { refreshes: 517, polls: 672 }
/** `PLIMSOLL_WEEKS=0.1` to try it out. */
const WEEKS = Number(process.env.PLIMSOLL_WEEKS ?? 1)
const LONGEST_MS = 20 * 60_000
const LOOK_EVERY_MS = 5_000
const HURRY_EVERY_MS = 250
const DAY_MS = 50_000
/** A week's history of an account of which one poll in ten finds a change; a message of all accounts, kept for a week. */
const HISTORY_BYTES = 6_000
const DELIVERY_BYTES = 50_000
/** Today's moment is over, and stays less than half a day ago. */
const DIGEST = { digest: { every: 'day', at: new Date(Date.now() - 3_600_000).toISOString().slice(11, 16) } }

test('a daemon that has lived through a week of refreshes, polls and alerts is as it was after half of it', async ({
  onTestFinished,
}) => {
  const provider = await startWeekProvider()
  const running = await startWholeDaemon(provider.url, settingsFor(provider), {
    isPersisted: true,
    env: { NODE_OPTIONS: `--expose-gc --import=${new URL('collect-on-signal.ts', import.meta.url)}` },
  })
  onTestFinished(async () => {
    await running.close()
    await provider.stop()
  })
  await connectFleet(running)
  const looks = await liveThrough(running, provider)

  const counts = (of: ReadonlyMap<number, number>) => [...of.values()].sort((a, b) => a - b)
  const [refreshes = 0, polls = 0] = [counts(provider.refreshes)[0], counts(provider.polls)[0]]
  say(`each of ${ACCOUNTS} accounts: ${refreshes} refreshes, ${polls} polls or more; ${JSON.stringify(provider.told)}`)
  expect(refreshes).toBeGreaterThanOrEqual(WEEK.refreshes * WEEKS)
  expect(polls).toBeGreaterThanOrEqual(WEEK.polls * WEEKS)
  expect(provider.told.webhooks).toBeGreaterThan(10 * WEEKS)
  expect(provider.told.mails).toBeGreaterThan(10 * WEEKS)
  judgePresent(looks)
  judgePast(looks)
})

function settingsFor({ url, smtpUrl }: WeekProvider): Record<string, object> {
  return {
    // Six refreshes within the life of a token: shorter lives would end while a sweep is awaited.
    tokens: { refreshFrom: '3%', refreshBy: '12%' },
    limits: { every: '1s', soonest: '1s', associations: [{ from: '0-1', to: '0-2' }] },
    alerts: { firstRun: 'alert', repeatEvery: '20s', group: { by: ['rule'], wait: '1s', interval: '3s' } },
    receivers: {
      'ops-mail': { type: 'email', smtp: smtpUrl, from: 'a@example.com', to: ['b@example.com'], ...DIGEST },
      'ops-hook': { type: 'webhook', url: `${url}/hook`, secrets: [WEBHOOK_SECRET], ...DIGEST },
    },
    heartbeat: { url: `${url}/hook`, every: '30s' },
  }
}

async function connectFleet({ store, keys }: WholeDaemon): Promise<void> {
  await seedFleet(store, keys, ACCOUNTS)
  const now = Date.now()
  await plan(store, keys, {
    from: 0,
    count: ACCOUNTS,
    turn: (place) => ({ ...lifeUntilDue(place, now, LIFE_MS), pollAt: now }),
  })
}

/** Until each account has had its week; looks every few seconds. */
async function liveThrough(running: WholeDaemon, { refreshes, polls }: WeekProvider): Promise<Look[]> {
  const look = startLooking(running)
  const looks: Look[] = []
  const began = Date.now()
  const isOver = () =>
    Array.from({ length: ACCOUNTS }, (_, n) => FIRST_HUB_ID + n).every(
      (hubId) => (refreshes.get(hubId) ?? 0) >= WEEK.refreshes * WEEKS && (polls.get(hubId) ?? 0) >= WEEK.polls * WEEKS,
    )
  let nextLook = began
  let nextDay = began + DAY_MS
  while (!isOver()) {
    const now = Date.now()
    if (now - began > LONGEST_MS) throw new Error('this machine takes too long for a week')
    await hurryPolls(running.store, running.keys)
    if (now >= nextDay) {
      nextDay = now + DAY_MS
      await beginNextDay(running.store, running.keys)
    }
    if (now >= nextLook) {
      nextLook = now + LOOK_EVERY_MS
      looks.push(await look())
      tell(looks.at(-1) as Look, (now - began) / 1_000)
    }
    await pause(HURRY_EVERY_MS)
  }
  return looks
}

function tell({ heap, resident, descriptors, present, past, lateMs }: Look, seconds: number): void {
  const mib = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`
  say(
    `${seconds.toFixed(0)} s: heap ${mib(heap)}, resident ${mib(resident)}, ${descriptors} descriptors; Redis: ` +
      `${present.keys} keys of ${mib(present.bytes)} for what is, ${past.keys} of ${mib(past.bytes)} for what was; ` +
      `late ${lateMs.toFixed(0)} ms`,
  )
}

function judgePresent(looks: readonly Look[]): void {
  const rises = (of: (look: Look) => number, share: number) => isRising(lineOf(looks.map(of)), share)
  expect(
    {
      heap: rises(({ heap }) => heap, 0.03),
      resident: rises(({ resident }) => resident, 0.05),
      descriptors: rises(({ descriptors }) => descriptors, 0.05),
      keys: rises(({ present }) => present.keys, 0.02),
      bytes: rises(({ present }) => present.bytes, 0.03),
      lateness: rises(({ lateMs }) => lateMs, 0.5),
    },
    JSON.stringify(looks.at(-1)),
  ).toEqual({ heap: false, resident: false, descriptors: false, keys: false, bytes: false, lateness: false })
}

/** What is remembered grows on purpose: each thing has its size. */
function judgePast(looks: readonly Look[]): void {
  const last = looks.at(-1)
  if (last === undefined) throw new Error('nobody looked')
  expect(last.histories.bytes / ACCOUNTS).toBeLessThan(HISTORY_BYTES)
  expect(last.deliveries.bytes / Math.max(1, last.deliveries.keys)).toBeLessThan(DELIVERY_BYTES)
}
