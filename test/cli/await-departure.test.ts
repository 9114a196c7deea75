import { expect, test } from 'vitest'
import { beginUninstall } from '../../src/accounts/uninstall.ts'
import { awaitDeparture } from '../../src/operations/departure.ts'
import type { ProviderClient } from '../../src/provider/client.ts'
import { failure } from '../support/fake-provider.ts'
import { uninstallNow } from '../support/uninstall-now.ts'
import { HUB, worldOfFile } from '../support/world.ts'

const world = worldOfFile()

/** Somebody waits for the end of an uninstall that has just begun. */
async function waiting(deleteRefreshToken: ProviderClient['deleteRefreshToken']) {
  const { services: deps, clock, account } = await world({ provider: { deleteRefreshToken } })
  await account()
  await beginUninstall(deps, HUB, { by: 'cli', reason: 'x' })
  const stop = new AbortController()
  return {
    deps,
    clock,
    account,
    stop,
    outcome: awaitDeparture(deps, HUB, stop.signal),
    pass: async (ms: number) => {
      await clock.sleeper()
      clock.move(ms)
    },
  }
}

test('who waits for an uninstall gets the proof', async () => {
  const one = await waiting(async () => ({ ok: true, value: 'deleted' }))
  await one.clock.sleeper()
  await uninstallNow(one.deps, HUB)
  const at = one.clock.now()
  one.clock.move(1_000)
  expect(await one.outcome).toMatchObject({ is: 'gone', proof: { ending: 'deleted', at } })
})

test('where nothing is kept there is no proof but that the account is gone', async () => {
  const one = await waiting(async () => ({ ok: true, value: 'deleted' }))
  await one.clock.sleeper()
  await uninstallNow({ ...one.deps, uninstallKeepMs: 0 }, HUB)
  one.clock.move(1_000)
  expect(await one.outcome).toEqual({ is: 'gone' })
})

test('after a minute it is said what holds it up: the provider', async () => {
  const one = await waiting(async () => failure('transient', { message: 'the provider answered 503' }))
  await one.clock.sleeper()
  await uninstallNow(one.deps, HUB)
  await one.pass(60_000)
  expect(await one.outcome).toEqual({
    is: 'held',
    by: 'the provider answered 503 (1 failed attempt, the next 2026-11-21 10:00 UTC)',
  })
})

test('after a minute it is said what holds it up: nobody is at work', async () => {
  const one = await waiting(async () => ({ ok: true, value: 'deleted' }))
  await one.pass(60_000)
  expect(await one.outcome).toMatchObject({ is: 'held', by: expect.stringContaining('no daemon has tried yet') })
})

test('an account that is connected again is not waited for', async () => {
  const one = await waiting(async () => ({ ok: true, value: 'deleted' }))
  await one.clock.sleeper()
  await one.account()
  one.clock.move(1_000)
  expect(await one.outcome).toEqual({ is: 'held', by: 'the account was connected again: it is active' })
})

test('who is told to stop waits no longer', async () => {
  const one = await waiting(async () => ({ ok: true, value: 'deleted' }))
  await one.clock.sleeper()
  one.stop.abort()
  expect(await one.outcome).toMatchObject({ is: 'held' })
})
