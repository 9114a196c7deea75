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

test('without Redis it is not ready, though it may be alive', () => {
  expect(judgeHealth({ ...FACTS, redisOk: false })).toMatchObject({ alive: true, ready: false })
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
