import { expect, test } from 'vitest'
import { judgeHealth } from '../../src/checks/health-report.ts'
import type { ProcessFacts } from '../../src/checks/process-facts.ts'

const NOW = 1_000_000
const FACTS: ProcessFacts = {
  now: NOW,
  startedAt: NOW - 500_000,
  redisOk: true,
  lastSweeps: { 'refresh-tokens': NOW - 5_000, 'poll-limits': NOW - 5_000 },
  standstills: { 'refresh-tokens': 0 },
  expected: { 'refresh-tokens': 10_000, 'poll-limits': 15_000 },
}

const failing = (receiver: string) => ({ receiver, failures: 1, failingSince: NOW - 1_000 })
const swept = (ms: number) => ({ lastSweeps: { ...FACTS.lastSweeps, 'refresh-tokens': NOW - ms } })
const oldest = (ms: number) => ({
  oldest: [
    { what: 'refresh', hubId: 7, ms, longestMs: 140_000 },
    { what: 'deliver', hubId: undefined, ms: 1_000, longestMs: 600_000 },
  ],
})
/** A clock whose ticks others follow is judged by those, and not by the sweeps that others do. */
const ticked = (ms: number) => ({
  lastSweeps: {},
  standstills: {},
  expected: {},
  ticks: { last: { 'refresh-tokens': NOW - ms }, expected: { 'refresh-tokens': 10_000 } },
})

test.each<[string, Partial<ProcessFacts>]>([
  ['whose sweeps finish', {}],
  ['whose sweep is three periods and the grace late', swept(45_000)],
  ['that started less than that ago, before any sweep', { startedAt: NOW - 45_000, lastSweeps: {} }],
  ['that found what an earlier daemon left behind', { startedAt: NOW - 1_000, lastSweeps: { 'refresh-tokens': 1 } }],
  ['whose jobs have not ended for two minutes', { standstills: { 'refresh-tokens': 120_000, deliver: 0 } }],
  ['whose oldest work takes as long as it may', oldest(140_000)],
  ['whose oldest work stood still while Redis was away', { ...oldest(190_000), redisSince: NOW - 100_000 }],
  ['whose ticks are as late as they may be', ticked(45_000)],
  ['whose clock jumped ahead a moment ago', { ...swept(3_600_000), ...oldest(3_600_000), redisSince: NOW - 1_000 }],
  ['whose clock was set back a moment ago', { ...swept(-3_600_000), redisSince: NOW - 1_000 }],
  ['that leaves jobs waiting for a moment', { untaken: { deliver: 45_000, sweep: 0 } }],
])('a daemon %s is alive and ready', (_, more) => {
  expect(judgeHealth({ ...FACTS, ...more })).toMatchObject({ alive: true, ready: true })
})

test.each<[name: string, detail: string, Partial<ProcessFacts>]>([
  ['sweep:refresh-tokens', 'last finished 45 s ago, at most 45 s allowed', swept(45_001)],
  [
    'sweep:poll-limits',
    'none finished yet, at most 60 s allowed',
    { lastSweeps: { 'refresh-tokens': NOW - 1 }, startedAt: NOW - 60_001 },
  ],
  ['queue:refresh-tokens', 'no job has ended for 120 s', { standstills: { 'refresh-tokens': 120_001, deliver: 0 } }],
  ['oldest:refresh', 'the oldest of account 7 has run for 190 s, at most 140 s allowed', oldest(190_000)],
  ['tick:refresh-tokens', 'last handed on 45 s ago, at most 45 s allowed', ticked(45_001)],
  ['worker:deliver', 'jobs wait, and none was taken for 45 s', { untaken: { deliver: 45_001, sweep: 0 } }],
])('one thing that stands still is enough not to be alive, and is named: %s', (name, detail, more) => {
  const report = judgeHealth({ ...FACTS, ...more })
  expect(report).toMatchObject({ alive: false, ready: true })
  expect(report.findings.filter(({ level }) => level !== 'ok')).toEqual([
    { name, level: 'critical', says: detail, stops: 'work' },
  ])
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

test('new tokens that no key opens are said, and make no daemon less ready', () => {
  const { alive, ready, findings } = judgeHealth({ ...FACTS, answersTrouble: 'no key with the id k1 is configured' })
  expect({ alive, ready }).toEqual({ alive: true, ready: true })
  expect(findings.filter(({ level }) => level !== 'ok')).toEqual([
    { name: 'sealed-tokens', level: 'critical', says: 'no key with the id k1 is configured' },
  ])
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
  expect(backFor(120_001).findings.flatMap(({ name, level }) => (level === 'ok' ? [] : [name]))).toEqual([
    'sweep:refresh-tokens',
    'sweep:poll-limits',
    'queue:refresh-tokens',
    'worker:deliver',
  ])
})

test('while it starts it is alive and not ready', () => {
  const report = judgeHealth({ ...FACTS, startedAt: undefined, lastSweeps: {} })
  expect(report).toMatchObject({ alive: true, ready: false })
})

test('readiness names receivers that fail, and is not lost over them', () => {
  const report = judgeHealth({ ...FACTS, receivers: ['hook', 'pager'].map(failing) })
  expect(report).toMatchObject({ alive: true, ready: true })
  expect(report.findings.at(-1)).toEqual({
    name: 'receivers',
    level: 'warning',
    says: 'hook, pager: alerts are not delivered',
  })
  expect(judgeHealth(FACTS).findings.at(-1)).toMatchObject({ level: 'ok', says: 'none is known to fail' })
})
