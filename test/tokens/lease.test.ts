import { expect, test } from 'vitest'
import type { Store } from '../../src/redis/connect.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { TokenStore } from '../../src/tokens/token-store.ts'
import { HandClock } from '../support/hand-clock.ts'

/** Nobody answers. */
const away = { renewLease: () => new Promise(() => {}) } as unknown as Store

test.each([-3_600_000, 0, 3_600_000])(
  'a lease that is not renewed ends, though the clock is set by %i ms meanwhile',
  (set) => {
    const clock = new HandClock()
    const lease = new TokenStore(away, createKeys('lease')).keepLease(
      123,
      { owner: 'me', ms: 15_000, sinceTaken: clock.stopwatch() },
      clock,
    )
    expect(lease.isHeld()).toBe(true)
    clock.move(set)
    clock.move(15_000)
    expect(lease.isHeld()).toBe(false)
    lease.end()
  },
)
