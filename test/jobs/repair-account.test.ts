import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Keys } from '../../src/redis/keys.ts'
import { outboxOf } from '../support/accounts.ts'
import { redisOfFile } from '../support/of-file.ts'
import { sampled } from '../support/runs.ts'
import { keepAll, type Spoil, spoilsOf } from '../support/spoiled-account.ts'
import { EVERY_MS, ONE, OTHER, SPOILED, spoiledFleet } from '../support/spoiled-fleet.ts'

const redis = redisOfFile()
let keys: Keys
let fleet: Awaited<ReturnType<typeof spoiledFleet>>
let spoils: Spoil[]
let restore: () => Promise<void>

beforeAll(async () => {
  keys = redis.freshKeys()
  fleet = await spoiledFleet(redis, keys)
  spoils = await spoilsOf(redis.store, keys, SPOILED)
  restore = await keepAll(redis.store, keys)
})

afterAll(() => fleet?.close())

/** What is anybody's words, a number or a place that another one may be, or records that the same poll reads anew. */
const MAY_BE_SO =
  /^(samples|access|tokens \w+|transitions \d+|account (hubDomain|contact|seen|pollBecause|metadataDue|pairsSeen|disagreed)):|: (half of it|nothing)$/

test('what is stored of one account, spoiled in any way, holds up no other, is told, and is gone with its next polls', async () => {
  const troubles: string[] = []
  for (const { name, do: spoil } of sampled(spoils, ({ name }) => name.split(':')[0])) {
    await restore()
    const before = fleet.logged.lines().length
    await spoil()
    fleet.clock.move(EVERY_MS)
    await fleet.round()
    for (const hubId of [ONE, OTHER]) {
      const { polledAt } = (await fleet.registry.get(hubId)) ?? {}
      if (polledAt !== fleet.clock.now()) troubles.push(`${name}: ${hubId} was not polled`)
    }
    // As the walk through all accounts does it once a day.
    await fleet.repair(SPOILED)
    const lines = fleet.logged.lines().slice(before)
    const isTold = lines.some(({ code, hubId }) => code === 'account.unreadable' && hubId === SPOILED)
    if (!isTold && !MAY_BE_SO.test(name)) troubles.push(`${name}: nobody was told`)
    fleet.clock.move(EVERY_MS)
    await fleet.round()
    await fleet.round()
    const repaired = await fleet.registry.get(SPOILED)
    if (repaired?.unreadable.length !== 0) troubles.push(`${name}: still unreadable: ${repaired?.unreadable}`)
    const lostTokens = name.startsWith('tokens')
    if (!lostTokens && repaired?.polledAt !== fleet.clock.now())
      troubles.push(`${name}: not polled again (${repaired?.state})`)
    if (!lostTokens && repaired?.pollFailure) troubles.push(`${name}: ${repaired.pollFailure.reason}`)
  }
  expect(spoils.length).toBeGreaterThan(100)
  expect(troubles).toEqual([])
})

describe('readings that cannot be read', () => {
  test('are a failing poll with its alert, kept beside with their history, and closed by the next poll', async () => {
    await restore()
    const own = keys.account(SPOILED)
    // Those of other accounts of the partition are committed with the rest of the chunk.
    const ofPolls = async () => (await outboxOf(redis.store, keys, SPOILED)).filter(({ kind }) => kind === 'poll')
    await redis.store.set(own.watch, 'garbage')
    fleet.clock.move(EVERY_MS)
    await fleet.round()
    expect(await fleet.registry.get(SPOILED)).toMatchObject({
      pollFailure: { count: 1, reason: 'unreadable: watch, history' },
    })
    expect((await ofPolls()).at(-1)).toMatchObject({
      kind: 'poll',
      cause: 'unreadable',
      status: 'firing',
      level: 'warning',
      message: expect.stringContaining('watch, history'),
    })
    expect(await redis.store.get(`${own.watch}:unreadable`)).toBe('garbage')
    expect(await redis.store.llen(`${own.history}:unreadable`)).toBeGreaterThan(0)
    await fleet.round()
    expect(await fleet.registry.get(SPOILED)).toMatchObject({ pollFailure: null, polledAt: fleet.clock.now() })
    expect((await ofPolls()).at(-1)).toMatchObject({
      kind: 'poll',
      cause: 'unreadable',
      status: 'resolved',
    })
  })
})
