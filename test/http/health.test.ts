import { expect, test } from 'vitest'
import { type HealthFacts, judgeHealth } from '../../src/http/health.ts'

const NOW = 1_000_000
const FACTS: HealthFacts = {
  now: NOW,
  startedAt: NOW - 500_000,
  redisOk: true,
  lastSweeps: { 'refresh-tokens': NOW - 5_000, 'poll-limits': NOW - 5_000 },
  standstills: { 'refresh-tokens': 0 },
  expected: { 'refresh-tokens': 10_000, 'poll-limits': 15_000 },
}

test('a daemon whose sweeps finish is alive and ready', () => {
  expect(judgeHealth(FACTS)).toMatchObject({ alive: true, ready: true })
})

test.each([
  ['three periods and the grace later it is still alive', 45_000, true],
  ['a moment after that it is not', 45_001, false],
])('%s', (_, quietMs, alive) => {
  const lastSweeps = { ...FACTS.lastSweeps, 'refresh-tokens': NOW - quietMs }
  expect(judgeHealth({ ...FACTS, lastSweeps }).alive).toBe(alive)
})

test('one kind of sweep that stands still is enough not to be alive, and the check names it', () => {
  const report = judgeHealth({ ...FACTS, lastSweeps: { 'refresh-tokens': NOW - 1 } })
  expect(report.alive).toBe(false)
  expect(report.checks.filter((check) => !check.ok)).toEqual([
    { name: 'sweep:poll-limits', ok: false, detail: 'none finished yet, at most 60 s allowed' },
  ])
})

test('a sweep that never finished has time from the start on', () => {
  const young = { ...FACTS, startedAt: NOW - 45_000, lastSweeps: {} }
  expect(judgeHealth(young).alive).toBe(true)
  expect(judgeHealth({ ...young, startedAt: NOW - 45_001 }).alive).toBe(false)
})

test('what an earlier daemon left behind long ago does not count against a fresh one', () => {
  const report = judgeHealth({ ...FACTS, startedAt: NOW - 1_000, lastSweeps: { 'refresh-tokens': 1 } })
  expect(report.alive).toBe(true)
})

test('a queue whose jobs do not end is enough not to be alive, and the check names it', () => {
  expect(judgeHealth({ ...FACTS, standstills: { 'refresh-tokens': 120_000, deliver: 0 } }).alive).toBe(true)
  const report = judgeHealth({ ...FACTS, standstills: { 'refresh-tokens': 120_001, deliver: 0 } })
  expect(report).toMatchObject({ alive: false, ready: true })
  expect(report.checks.filter((check) => !check.ok)).toEqual([
    { name: 'queue:refresh-tokens', ok: false, detail: 'no job has ended for 120 s' },
  ])
})

test('what hangs is enough not to be alive, although all else moves, and the check names it', () => {
  const oldest = (ms: number) => [
    { what: 'refresh', hubId: 7, ms, longestMs: 140_000 },
    { what: 'deliver', hubId: undefined, ms: 1_000, longestMs: 600_000 },
  ]
  expect(judgeHealth({ ...FACTS, oldest: oldest(140_000) }).alive).toBe(true)
  const report = judgeHealth({ ...FACTS, oldest: oldest(190_000) })
  expect(report.checks.filter((check) => !check.ok)).toEqual([
    {
      ...{ name: 'oldest:refresh', ok: false },
      detail: 'the oldest of account 7 has run for 190 s, at most 140 s allowed',
    },
  ])
  expect(judgeHealth({ ...FACTS, oldest: oldest(190_000), redisSince: NOW - 100_000 }).alive).toBe(true)
})

const MINUTE = 60_000

test.each([
  ['while Redis is away it is not ready, but alive: a restart would mend nothing', 15 * MINUTE - 1, true],
  ['of a Redis that is away for so long the fault may be its own', 15 * MINUTE, false],
])('%s', (_, awayMs, alive) => {
  const stood = { lastSweeps: {}, standstills: { 'refresh-tokens': awayMs }, untaken: {} }
  const old = { ...FACTS, ...stood, startedAt: NOW - 60 * MINUTE, redisOk: false, redisSince: NOW - awayMs }
  expect(judgeHealth(old)).toMatchObject({ alive, ready: false })
})

test('a clock that others follow is alive too while it can hand on nothing', () => {
  const ticks = { last: { alerts: NOW - 400_000 }, expected: { alerts: 5_000 } }
  const clock = { ...FACTS, expected: {}, standstills: {}, ticks }
  expect(judgeHealth({ ...clock, redisOk: false, redisSince: NOW - 390_000 }).alive).toBe(true)
  expect(judgeHealth({ ...clock, redisSince: NOW - 490_000 }).alive).toBe(false)
})

test('what stood still while Redis was away has its full time again once it is back', () => {
  const stood = {
    lastSweeps: { 'refresh-tokens': NOW - 400_000, 'poll-limits': NOW - 400_000 },
    standstills: { 'refresh-tokens': 400_000 },
    untaken: { deliver: 400_000 },
  }
  const backFor = (ms: number) => judgeHealth({ ...FACTS, ...stood, redisSince: NOW - ms })
  expect(backFor(45_000)).toMatchObject({ alive: true, ready: true })
  expect(backFor(120_001).checks.flatMap(({ name, ok }) => (ok ? [] : [name]))).toEqual([
    ...['sweep:refresh-tokens', 'sweep:poll-limits', 'queue:refresh-tokens', 'worker:deliver'],
  ])
})

test('while it starts it is alive and not ready', () => {
  const report = judgeHealth({ ...FACTS, startedAt: undefined, lastSweeps: {} })
  expect(report).toMatchObject({ alive: true, ready: false })
})

test('a clock whose ticks others follow is judged by those, and not by the sweeps that others do', () => {
  const expected = { 'refresh-tokens': 10_000 }
  const clock = { ...FACTS, lastSweeps: {}, standstills: {}, expected: {} }
  const ticked = (quietMs: number) =>
    judgeHealth({ ...clock, ticks: { last: { 'refresh-tokens': NOW - quietMs }, expected } })
  expect(ticked(45_000).alive).toBe(true)
  expect(ticked(45_001).checks.filter((check) => !check.ok)).toEqual([
    { name: 'tick:refresh-tokens', ok: false, detail: 'last handed on 45 s ago, at most 45 s allowed' },
  ])
})

test('a worker that is idle while jobs wait is not alive, and the check names its queue', () => {
  expect(judgeHealth({ ...FACTS, untaken: { deliver: 45_000, sweep: 0 } }).alive).toBe(true)
  const report = judgeHealth({ ...FACTS, untaken: { deliver: 45_001, sweep: 0 } })
  expect(report).toMatchObject({ alive: false, ready: true })
  expect(report.checks.filter((check) => !check.ok)).toEqual([
    { name: 'worker:deliver', ok: false, detail: 'jobs wait, and none was taken for 45 s' },
  ])
})
