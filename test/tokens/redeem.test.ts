import { expect, test } from 'vitest'
import type { ProviderClient } from '../../src/provider/client.ts'
import { NO_ALERT_WRITES } from '../../src/redis/steps.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { InFlight } from '../../src/runtime/concurrency.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { PendingTokens } from '../../src/tokens/pending-tokens.ts'
import { type RedeemJob, redeemAndStore } from '../../src/tokens/redeem.ts'
import { TokenStore } from '../../src/tokens/token-store.ts'
import { seedAccount, storedTokens, vault } from '../support/accounts.ts'
import { failure, fakeProvider, tokens } from '../support/fake-provider.ts'
import { HandClock } from '../support/hand-clock.ts'
import { logLines } from '../support/log-lines.ts'
import { memoryFile } from '../support/memory-file.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()
const HUB = 123

async function claimedRefresh(tokens: TokenStore) {
  const { claim, context } = await tokens.claimOne(HUB, 60_000)
  return typeof context === 'string' || context instanceof Error ? expect.fail(String(context)) : { claim, context }
}

/** An account that is claimed, and the job to redeem its token. */
async function begun(refresh: ProviderClient['refresh']) {
  const keys = redis.freshKeys()
  const clock = new HandClock()
  await seedAccount(redis.store, keys, { obtainedAt: clock.now() })
  const store = new TokenStore(redis.store, keys, systemClock)
  const { claim, context } = await claimedRefresh(store)
  const job: RedeemJob = {
    hubId: HUB,
    claim,
    age: () => 0,
    context,
    recovered: NO_ALERT_WRITES,
  }
  const provider = fakeProvider({ refresh })
  const { log } = logLines()
  const deps = {
    provider,
    tokens: store,
    vault,
    settings: { refreshFrom: 0.5, refreshBy: 0.8 },
    clock,
    log,
    pending: new PendingTokens({ tokens: store, vault, clock, log, file: memoryFile() }),
    inFlight: new InFlight(2),
    callMs: 10_000,
  }
  const other = (context: Partial<RedeemJob['context']>) => ({ ...job, context: { ...job.context, ...context } })
  return { keys, clock, job, with: other, deps, provider, stored: () => storedTokens(redis.store, keys, HUB) }
}

test('tokens that come to a store that lost its last writes are newer than what it has, and stored', async () => {
  const one = await begun(async () => tokens('access-2', 'refresh-2'))
  const redeemed = await redeemAndStore(one.deps, one.with({ version: '1000002' }))
  expect(redeemed).toMatchObject({ is: 'stored', rotated: true })
  expect(await one.stored()).toMatchObject({ access: 'access-2', refresh: 'refresh-2', previous: 'refresh-1' })
})

test('what such a store kept of a token before the last one goes, though there was none when the tokens were read', async () => {
  const one = await begun(async () => tokens('access-2'))
  await redis.store.hset(one.keys.account(HUB).tokens, 'previous', vault.seal(new Secret('refresh-0'), HUB, 'refresh'))
  const redeemed = await redeemAndStore(one.deps, one.with({ version: '1000002' }))
  expect(redeemed).toMatchObject({ is: 'stored', rotated: false })
  expect(await one.stored()).toEqual({ access: 'access-2', refresh: 'refresh-1', previous: undefined })
})

test('what was redeemed there because a newer one was refused, which the store lost, is kept beside what there is', async () => {
  const one = await begun(async (token) =>
    token.reveal() === 'refresh-1' ? tokens('access-3', 'refresh-3') : failure('rejected'),
  )
  await redis.store.hset(one.keys.account(HUB).tokens, 'previous', vault.seal(new Secret('refresh-0'), HUB, 'refresh'))
  const [refreshToken, ...previousTokens] = ['refresh-2', 'refresh-1'].map((token) =>
    vault.seal(new Secret(token), HUB, 'refresh'),
  )
  const read = one.with({ version: '1000002', previousTokens, ...(refreshToken && { refreshToken }) })
  expect(await redeemAndStore(one.deps, read)).toMatchObject({ is: 'stored', rotated: true })
  expect(await one.stored()).toMatchObject({ refresh: 'refresh-3', previous: 'refresh-0' })
  const before = await redis.store.hgetBuffer(one.keys.account(HUB).tokens, 'previous2')
  expect(before && vault.open(before, HUB, 'refresh').reveal()).toBe('refresh-1')
})

test('but not over the tokens of a grant that came after them', async () => {
  const one = await begun(async () => tokens('access-2', 'refresh-2'))
  await seedAccount(redis.store, one.keys, { obtainedAt: one.clock.now(), refreshToken: 'refresh-9' })
  const redeemed = await redeemAndStore(one.deps, one.with({ version: '1000002' }))
  expect(redeemed).toMatchObject({ is: 'lost' })
  expect(await one.stored()).toMatchObject({ refresh: 'refresh-9' })
})

test('a store that lost the connection of an account itself gets the tokens of it', async () => {
  const one = await begun(async () => tokens('access-3', 'refresh-3'))
  const all = Object.values(one.keys.account(HUB))
  const dumps = await Promise.all(all.map((key) => redis.store.dumpBuffer(key)))
  one.clock.move(1_000)
  await seedAccount(redis.store, one.keys, { obtainedAt: one.clock.now(), refreshToken: 'refresh-2' })
  // The claim of before is over.
  await redis.store.zadd(one.keys.due.refresh, 1, HUB)
  const { context } = await claimedRefresh(one.deps.tokens)
  await Promise.all(all.map((key, n) => redis.store.restore(key, 0, dumps[n] ?? '', 'REPLACE').catch(() => {})))
  one.clock.move(-60_000)
  const redeemed = await redeemAndStore(one.deps, { ...one.job, context })
  expect(redeemed).toMatchObject({ is: 'stored' })
  expect(await one.stored()).toMatchObject({ refresh: 'refresh-3' })
})
