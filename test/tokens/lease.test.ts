import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Lease, Leases } from '../../src/tokens/leases.ts'
import { HandClock } from '../support/hand-clock.ts'

/** A clock whose rounds a test brings about. */
function rounds() {
  const clock = new HandClock()
  const repeated: { ms: number; work: () => Promise<void> }[] = []
  clock.every = (ms, work) => {
    const one = { ms, work }
    repeated.push(one)
    return () => repeated.splice(repeated.indexOf(one), 1).length === 1
  }
  const everyMs = () => repeated.map(({ ms }) => ms)
  const round = async () => {
    for (const { ms, work } of repeated) {
      clock.move(ms)
      await work()
    }
  }
  return { clock, everyMs, round }
}

function lasting(ms: number, hubId: number, clock: HandClock) {
  const lease = new Lease(hubId, 'me', clock)
  lease.ms = ms
  return lease
}

test('a lease that is not renewed ends', () => {
  const clock = new HandClock()
  const lease = lasting(15_000, 123, clock)
  clock.move(14_999)
  expect(lease.isHeld()).toBe(true)
  clock.move(1)
  expect(lease.isHeld()).toBe(false)
})

test('leases of one job are renewed in time for the shortest of them, each until it is ended', async () => {
  const { clock, everyMs, round } = rounds()
  const asked: number[] = []
  const leases = new Leases({ renewLease: async ({ hubId }) => asked.push(hubId) > 0 }, clock)
  const [long, short] = [lasting(15_000, 1, clock), lasting(3_000, 2, clock)]
  leases.keep(long)
  leases.keep(short)
  expect(everyMs()).toEqual([1_000])
  for (let n = 0; n < 20; n++) {
    await round()
    expect([long.isHeld(), short.isHeld()]).toEqual([true, true])
  }
  // Once when the shorter one came, for all that had waited.
  expect(asked.filter((hubId) => hubId === 2)).toHaveLength(21)
  leases.end(short)
  asked.length = 0
  for (let n = 0; n < 15; n++) await round()
  expect([long.isHeld(), short.isHeld(), asked.includes(2)]).toEqual([true, false, false])
  leases.end(long)
  expect(everyMs()).toEqual([])
  leases.keep(lasting(15_000, 3, clock))
  expect(everyMs()).toEqual([5_000])
})

test('while Redis does not answer a lease ends when it would have, and one that somebody else has at once', async () => {
  const { clock, round } = rounds()
  const says: { next: () => Promise<boolean> } = { next: async () => true }
  const leases = new Leases({ renewLease: () => says.next() }, clock)
  const lease = lasting(3_000, 1, clock)
  leases.keep(lease)
  await round()
  says.next = () => Promise.reject(new Error('away'))
  await round()
  await round()
  expect(lease.isHeld()).toBe(true)
  await round()
  expect(lease.isHeld()).toBe(false)
  says.next = async () => true
  await round()
  expect(lease.isHeld()).toBe(true)
  says.next = async () => false
  await round()
  says.next = async () => true
  await round()
  expect(lease.isHeld()).toBe(false)
})

test('leases that are each a little shorter than the one before do not put off the renewal of all', async () => {
  const { clock } = rounds()
  const leases = new Leases({ renewLease: async () => true }, clock)
  const long = lasting(3_000, 1, clock)
  leases.keep(long)
  for (let n = 1; n <= 4; n++) {
    clock.move(850)
    leases.keep(lasting(3_000 - 20 * n, n + 1, clock))
    await setImmediate()
  }
  expect(long.isHeld()).toBe(true)
})
