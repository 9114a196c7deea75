import { createRequire } from 'node:module'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createKeys, PARTITIONS } from '../../src/redis/keys.ts'

// What ioredis itself routes by; it comes with it, without types.
const slotOf: (key: string) => number = createRequire(createRequire(import.meta.url).resolve('ioredis'))(
  'cluster-key-slot',
)

const keys = createKeys('plimsoll')

function keysOfPartition(number: number): string[] {
  const { due, state, ...others } = keys.partition(number)
  return [...Object.values(due), ...Object.values(state), ...Object.values(others)]
}

const hubId = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })

describe('keys', () => {
  test('of an account carry the tag of its partition, which is its hubId modulo 64', () => {
    expect(PARTITIONS).toBe(64)
    expect(keys.account(1_000_017).account).toBe('plimsoll:{17}:account:1000017'.replace('{17}', `{${1_000_017 % 64}}`))
    fc.assert(
      fc.property(hubId, (id) => {
        for (const key of Object.values(keys.account(id))) expect(key).toContain(`:{${id % 64}}:`)
      }),
    )
  })

  test('of one atomic step lie in one slot of a cluster', () => {
    fc.assert(
      fc.property(hubId, (id) => {
        const all = [...Object.values(keys.account(id)), ...keysOfPartition(keys.partitionOf(id))]
        expect(new Set(all.map(slotOf)).size).toBe(1)
        expect(keys.own(id)).toBe(keys.account(id).account)
        expect(keys.own(id)).toBe(keys.account(id).account)
      }),
    )
  })

  test('of delivery lie in one slot, and so do those about encryption and those of the queues', () => {
    const { known, over, recent: lately, delivery, receiver, reconnectMail, lastEvent, ...fixed } = keys.delivery
    const all = [
      ...Object.values(fixed),
      known('ops'),
      over('ops'),
      lately('ops'),
      delivery('m'),
      receiver('ops'),
      reconnectMail(1),
      lastEvent('ops', 1),
    ]
    expect(new Set(all.map(slotOf)).size).toBe(1)
    expect(new Set([keys.digests.due, keys.digests.of('ops'), keys.delivery.deliveriesDue].map(slotOf)).size).toBe(1)
    expect(new Set(Object.values(keys.vault).map(slotOf)).size).toBe(1)
    expect(slotOf(`${keys.queues}:uninstall:wait`)).toBe(slotOf(`${keys.queues}:deliver:active`))
  })

  test('of two accounts are never the same, nor is any the key of something else', () => {
    fc.assert(
      fc.property(hubId, hubId, (a, b) => {
        fc.pre(a !== b)
        const all = [a, b].flatMap((id) => Object.values(keys.account(id)))
        const shared = [
          keys.progress,
          keys.adminTokens,
          keys.endedSessions,
          ...Object.values(keys.vault),
          keys.usedInstallState('x'),
          ...keysOfPartition(keys.partitionOf(a)),
        ]
        expect(new Set([...all, ...shared]).size).toBe(all.length + shared.length)
      }),
    )
  })

  test('spread over the slots of a cluster', () => {
    expect(new Set(Array.from({ length: PARTITIONS }, (_, n) => slotOf(keys.partition(n).news))).size).toBe(PARTITIONS)
  })

  test('begin with the prefix, also those of the queues behind their tag', () => {
    const own = createKeys('team-a')
    const some = [
      own.adminTokens,
      own.account(1).tokens,
      own.partition(3).due.poll,
      own.delivery.log,
      own.usedInstallState('s'),
    ]
    for (const key of some) expect(key).toMatch(/^team-a:/)
    expect(own.queues).toBe('{team-a}')
  })
})
