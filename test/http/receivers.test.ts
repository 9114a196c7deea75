import { expect, test } from 'vitest'
import { judgeHealth } from '../../src/http/health.ts'
import { redisOfFile } from '../support/of-file.ts'
import { openServer } from './open-server.ts'

const redis = redisOfFile()

const FAILED = { outcome: 'retry', answer: 500, reason: 'answered 500: Internal Server Error' } as const

/** One receiver that delivers, one that fails, one that is switched off, one that had nothing to do yet. */
async function fourReceivers() {
  const server = await openServer(redis)
  const { deliveries, receiverStore, clock } = server.deps
  await receiverStore.see(['chat', 'hook', 'mail', 'pager'], clock.now())
  await receiverStore.recordTest('msg_1', 'mail', { outcome: 'delivered', answer: 250 }, 900, clock.now())
  await receiverStore.recordTest('msg_2', 'hook', FAILED, 1_200, clock.now())
  await deliveries.disable('pager', 'answered 410: this receiver wants no more messages')
  return server
}

test('the page of deliveries shows how each receiver fares, and of each attempt what it took and what was answered', async () => {
  const { get } = await fourReceivers()
  const { text } = await get('/deliveries')
  const words = text.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ')
  expect(words).toContain('chat new nothing sent yet')
  expect(words).toContain('hook failing fails since 2026-11-21 10:00 UTC, 1 attempt: answered 500')
  expect(words).toContain('mail delivers delivered last 2026-11-21 10:00 UTC')
  expect(words).toContain('pager disabled switched off: answered 410')
  expect(words).toContain('500 1.2 s answered 500')
})

test('the status page names the receivers that fail', async () => {
  const { get } = await fourReceivers()
  const { text } = await get('/')
  expect(text).toContain('<span>hook fails since ')
  expect(text).toContain('<span>pager switched off: ')
  expect(text).toContain('2 receivers fail')
})

test('metrics say of each receiver whether it fails', async () => {
  const { get } = await fourReceivers()
  const lines = (await get('/metrics')).text.split('\n')
  expect(lines.filter((line) => line.startsWith('plimsoll_receiver_failing{'))).toEqual([
    'plimsoll_receiver_failing{receiver="chat"} 0',
    'plimsoll_receiver_failing{receiver="hook"} 1',
    'plimsoll_receiver_failing{receiver="mail"} 0',
    'plimsoll_receiver_failing{receiver="pager"} 1',
  ])
})

test('readiness names receivers that fail, and is not lost over them', () => {
  const facts = { now: 1_000, startedAt: 0, redisOk: true, lastSweeps: {}, standstills: {}, expected: {} }
  const report = judgeHealth({ ...facts, failingReceivers: ['hook', 'pager'] })
  expect(report).toMatchObject({ alive: true, ready: true })
  expect(report.checks).toContainEqual({
    name: 'receivers',
    ok: false,
    detail: 'hook, pager: alerts are not delivered',
  })
  expect(judgeHealth(facts).checks).toContainEqual({ name: 'receivers', ok: true, detail: 'none is known to fail' })
})
