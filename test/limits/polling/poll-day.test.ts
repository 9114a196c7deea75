import { describe, expect, test } from 'vitest'
import type { TurnBecause } from '../../../src/limits/polling/poll-turn.ts'
import { busiestHour, type SimulatedAccount, type SimulatedPoll, simulatePolls } from './simulate-polls.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const NOON = 12 * HOUR

/** Of every hundred accounts: what they do, and how often they must be polled. */
function account(index: number): SimulatedAccount {
  const part = index % 100
  const common = { hubId: 1_000_000 + index, calls: 1 + (index % 2), everyMs: 2 * HOUR, soonestMs: 5 * MINUTE }
  const phase = (index * 0.7548) % 1
  if (part < 4) return { ...common, kind: 'vip', everyMs: 15 * MINUTE, soonestMs: MINUTE, usageAt: () => 300 }
  if (part < 20) return { ...common, kind: 'near', usageAt: () => 775 + (index % 25) }
  if (part < 30) {
    const perDay = 200 + 600 * phase
    return { ...common, kind: 'rising', usageAt: (now) => Math.floor(150 + (perDay * now) / DAY) }
  }
  if (part < 45) {
    const pause = (2 + 6 * phase) * HOUR
    return { ...common, kind: 'changing', usageAt: (now) => 300 + (Math.floor(now / pause + phase) % 7) }
  }
  if (part < 65) return { ...common, kind: 'wave', usageAt: (now) => (now < NOON ? 300 : 320) }
  if (part < 70) {
    // Companion endpoints and pairs that are not worth asking for make each poll take another number of calls.
    return { ...common, kind: 'auto', calls: 11, takes: (n) => 3 + ((7 * n + index) % 9), usageAt: () => 300 }
  }
  if (part < 74) {
    // Of every hour it can't be read for some minutes, most of them late in it.
    const from = (0.3 + 0.5 * phase) * HOUR
    return { ...common, kind: 'failing', usageAt: (now) => (now % HOUR > from ? undefined : 300) }
  }
  // A token that is refused takes as many calls again after its refresh.
  if (part < 75) return { ...common, kind: 'refused', takes: (n) => common.calls * (1 + (n % 2)), usageAt: () => 300 }
  return { ...common, kind: 'still', usageAt: () => 300 }
}

const isRetry = (because: TurnBecause) => (because.is === 'budget' ? because.instead : because).is === 'failed'

const CONNECTED_AT = 15 * HOUR

/** A wave of customers that all come within ten minutes, and one that comes before the end of the day. */
function newcomer(n: number): SimulatedAccount {
  const connectedAt = n === 0 ? DAY - 10 * MINUTE : CONNECTED_AT + (n % 600) * 1_000
  const common = { kind: 'new', everyMs: 2 * HOUR, soonestMs: 5 * MINUTE, connectedAt }
  return { ...common, hubId: 5_000_000 + n, calls: 1 + (n % 2), usageAt: () => 300 + (n % 490) }
}

describe('a day of 50,000 accounts, of which 10,000 change at noon', () => {
  const callsPerHour = 86_000
  const accounts = [
    ...Array.from({ length: 48_000 }, (_, index) => account(index)),
    ...Array.from({ length: 2_000 }, (_, n) => newcomer(n)),
  ]
  const polls = new Map<string, number>()
  const early = new Map<string, { asked: number; admitted: number }>()
  /** Of those that ask early from noon to one: by how urgent they are, in thirds. */
  const atNoon = [0, 1, 2].map(() => ({ asked: 0, admitted: 0 }))
  const crossed = new Map<number, number>()
  const noticed: number[] = []
  const tooLate: SimulatedPoll[] = []
  const retries: number[] = []
  const firsts = new Map<number, number>()
  const { callsBySecond, said, unpolledMs } = simulatePolls(accounts, { callsPerHour, forMs: DAY }, (poll) => {
    const { account, now, pauseMs, turn, admitted } = poll
    if (now < turn.regularAt) {
      const count = early.get(account.kind) ?? { asked: 0, admitted: 0 }
      early.set(account.kind, { asked: count.asked + 1, admitted: count.admitted + Number(admitted) })
      const third = atNoon[Math.min(2, Math.floor(turn.urgency * 3))]
      if (now >= NOON && now < NOON + HOUR && third !== undefined) {
        third.asked++
        third.admitted += Number(admitted)
      }
    }
    if (!admitted) return
    polls.set(account.kind, (polls.get(account.kind) ?? 0) + 1)
    if (pauseMs > account.everyMs) tooLate.push(poll)
    if (isRetry(turn.because)) retries.push(pauseMs)
    if (account.connectedAt !== undefined && !firsts.has(account.hubId)) firsts.set(account.hubId, pauseMs)
    if (account.kind === 'rising' && (account.usageAt(now) ?? 0) >= 800 && !crossed.has(account.hubId)) {
      crossed.set(account.hubId, now)
      const perDay = 200 + 600 * (((account.hubId - 1_000_000) * 0.7548) % 1)
      noticed.push(now - (650 / perDay) * DAY)
    }
  })

  test('stays within its calls in every hour, and uses them', () => {
    const most = busiestHour(callsBySecond)
    expect(most).toBeLessThanOrEqual(callsPerHour)
    expect(most).toBeGreaterThan(0.85 * callsPerHour)
    expect(said).toEqual([])
  })

  test('polls no account later than its longest period', () => {
    expect(tooLate.map(({ account, now, pauseMs, turn }) => [account.kind, now, pauseMs, turn.regularAt])).toEqual([])
    // Nor one that was due and never came.
    const overdue = accounts.filter(({ everyMs }, n) => (unpolledMs[n] ?? 0) > everyMs)
    expect(overdue.map(({ kind }) => kind)).toEqual([])
    expect([...polls.values()].reduce((sum, count) => sum + count)).toBeGreaterThan(1_000_000)
  })

  test('polls newcomers within minutes, and tries again soon what failed', () => {
    expect(firsts.size).toBe(2_000)
    expect(Math.max(...firsts.values())).toBeLessThan(10 * MINUTE)
    expect(retries.length).toBeGreaterThan(10_000)
    expect(Math.min(...retries)).toBeLessThan(MINUTE)
  })

  test('polls sooner what is near, rises or has changed, as far as there is room', () => {
    const perDay = (kind: string, accounts: number) => (polls.get(kind) ?? 0) / accounts
    for (const kind of ['still', 'vip']) expect(early.get(kind)?.admitted ?? 0).toBe(0)
    expect(perDay('still', 17_500)).toBeLessThan(13)
    expect(perDay('wave', 10_000)).toBeGreaterThan(perDay('still', 17_500) + 0.5)
    expect(perDay('changing', 7_500)).toBeGreaterThan(15)
    expect(perDay('near', 5_000)).toBeGreaterThan(20)
    expect(perDay('rising', 5_000)).toBeGreaterThan(40)
  })

  test('sees a crossing long before the longest period is over', () => {
    expect(noticed.length).toBeGreaterThan(500)
    const late = noticed.toSorted((a, b) => a - b)
    expect(Math.min(...noticed)).toBeGreaterThan(-1)
    expect(late[Math.floor(late.length * 0.5)]).toBeLessThan(10 * MINUTE)
    expect(late[Math.floor(late.length * 0.9)]).toBeLessThan(45 * MINUTE)
  })

  test('lets the most urgent through when not everybody can be', () => {
    const [least = 0, , most = 0] = atNoon.map(({ asked, admitted }) => admitted / asked)
    expect(most).toBeGreaterThan(0.25)
    expect(least).toBeLessThan(most / 4)
  })
})

describe('a budget that is too small even for regular turns', () => {
  const callsPerHour = 1_200
  const accounts = Array.from({ length: 2_000 }, (_, n) => ({
    ...{ hubId: 1 + n, kind: 'any', everyMs: HOUR, soonestMs: MINUTE, calls: 1 },
    usageAt: (now: number) => (n % 10 === 0 ? 790 : 300) + Math.floor(now / HOUR),
  }))
  const pauses: number[] = []
  const polled = new Set<number>()
  let early = 0
  const { callsBySecond, said } = simulatePolls(accounts, { callsPerHour, forMs: 8 * HOUR }, (poll) => {
    if (!poll.admitted) return
    polled.add(poll.account.hubId)
    if (poll.now > 3 * HOUR) {
      pauses.push(poll.pauseMs)
      early += Number(poll.now < poll.turn.regularAt)
    }
  })

  test('holds in every hour all the same', () => {
    expect(busiestHour(callsBySecond)).toBeLessThanOrEqual(callsPerHour)
    expect(busiestHour(callsBySecond)).toBeGreaterThan(0.8 * callsPerHour)
  })

  test('makes everybody wait about as long, the oldest first, and nobody come early', () => {
    expect(polled.size).toBe(2_000)
    expect(early).toBe(0)
    expect(Math.max(...pauses)).toBeLessThan(2 * HOUR)
    expect(Math.min(...pauses)).toBeGreaterThan(1.7 * HOUR)
  })

  test('is told once an hour', () => {
    expect(said.length).toBeGreaterThanOrEqual(6)
    expect(said.length).toBeLessThanOrEqual(8)
    for (const [n, { at }] of said.slice(1).entries()) expect(at - (said[n]?.at ?? 0)).toBeGreaterThanOrEqual(HOUR)
    expect(said.at(-1)?.short.latestMs).toBeGreaterThan(30 * MINUTE)
  })
})
