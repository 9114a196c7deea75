import { describe, expect, test } from 'vitest'
import { ChunkClaims } from '../../jobs/chunk-claims.ts'
import { eachAccount } from '../../jobs/each-account.ts'
import { ACCOUNT_CLAIM_MS, DueSets } from '../../src/accounts/due-sets.ts'
import { eventually } from '../support/fleet.ts'
import { worldOfFile } from '../support/world.ts'

const world = worldOfFile()
const ABORTED = AbortSignal.abort(new Error('SIGTERM'))

/** More than may be under way at a time. */
const MANY = Array.from({ length: 100 }, (_, n) => 1_000 + n)

/** How a chunk is worked on. `claimed`: it knows until when it has its accounts. */
interface How {
  signal?: AbortSignal
  claimed?: boolean
  kind?: 'poll' | 'refresh'
  due?: DueSets
}

/** A chunk of accounts whose poll was just claimed. */
async function chunk(hubIds: readonly number[]) {
  const { account, services, clock, logged, ...w } = await world()
  const { due } = services
  for (const hubId of hubIds) await account({ hubId })
  const { until } = await due.claim('poll', clock.now(), 1_000_000)
  const dueNow = () => due.countDue('poll', clock.now())
  expect(await dueNow()).toBe(0)
  const run = (
    on: (hubId: number) => Promise<unknown>,
    { signal, claimed, kind = 'poll', due: own = due }: How = {},
  ) => {
    const deps = { ...services, due: own }
    const claims = { kind, hubIds: [...hubIds], ...(claimed === true && { claimedUntil: until }) }
    return eachAccount(deps, new ChunkClaims(deps, claims), signal ?? new AbortController().signal, on)
  }
  return { ...w, due, clock, lines: logged.lines, dueNow, run }
}

/** Work on accounts that ends when the test says so. */
function work() {
  const begun: number[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  const on = (hubId: number) => {
    begun.push(hubId)
    return promise
  }
  return { on, begun, end: resolve }
}

describe('a chunk of accounts', () => {
  test('is worked through, each account once, many at a time but not all', async () => {
    const { run, dueNow } = await chunk(MANY)
    const { on, begun, end } = work()
    const working = run(on)
    expect(begun.length).toBeGreaterThan(10)
    expect(begun.length).toBeLessThan(MANY.length)
    end()
    await working
    expect(begun).toEqual(MANY)
    expect(await dueNow()).toBe(0)
  })

  test('without accounts is done', async () => {
    const { run } = await chunk([])
    await expect(run(work().on)).resolves.toBeUndefined()
  })

  test('of which one throws goes on with the others; that one is due again when its claim ends', async () => {
    const { run, due, clock, lines } = await chunk(MANY)
    const done: number[] = []
    await run(async (hubId) => {
      if (hubId === 1_003) throw new Error('a bug')
      done.push(hubId)
    })
    expect(done).toEqual(MANY.filter((hubId) => hubId !== 1_003))
    expect(lines()).toMatchObject([{ level: 'error', code: 'poll.error', hubId: 1_003, err: { message: 'a bug' } }])
    expect(await due.when('poll', 1_003)).toBeGreaterThan(clock.now())
  })
})

describe('the claims of a chunk', () => {
  test('that ran out while it waited are left to whom they went to; what nobody has taken is worked on', async () => {
    const { run, due, clock } = await chunk(MANY)
    clock.move(ACCOUNT_CLAIM_MS.poll + 1)
    const taken = (await due.claim('poll', clock.now(), 30)).hubIds
    await due.plan('poll', [1_099], clock.now() + 900_000)
    clock.move(1)
    const { on, begun, end } = work()
    end()
    await run(on, { claimed: true })
    expect(begun).toEqual(MANY.filter((hubId) => !taken.includes(hubId) && hubId !== 1_099))
  })

  test('are renewed while it is worked on, but for what has another plan', async () => {
    const { run, due, clock } = await chunk(MANY)
    let tick = async () => {}
    clock.every = (_, work) => {
      tick = work
      return () => {}
    }
    const { on, begun, end } = work()
    const working = run(on, { claimed: true })
    await eventually('some are under way', async () => begun.length > 1)
    const planned = clock.now() + 900_000
    await due.plan('poll', [1_000, 1_099], planned)
    for (let round = 0; round < 5; round++) {
      clock.move(ACCOUNT_CLAIM_MS.poll / 2)
      await tick()
      expect(await due.claim('poll', clock.now(), 1_000)).toMatchObject({ hubIds: [] })
    }
    end()
    await working
    expect(begun).toEqual(MANY.filter((hubId) => hubId !== 1_099))
    expect(await due.when('poll', 1_000)).toBe(planned)
    expect(await due.when('poll', 1_001)).toBe(clock.now() + ACCOUNT_CLAIM_MS.poll)
  })

  test('are handed back at the signal to stop, and no others', async () => {
    const { run, due, clock } = await chunk([1, 2])
    await due.plan('poll', [2], clock.now() + 900_000)
    await run(work().on, { claimed: true, signal: ABORTED })
    expect(await due.when('poll', 1)).toBe(clock.now())
    expect(await due.when('poll', 2)).toBe(clock.now() + 900_000)
  })
})

describe('after the signal to stop', () => {
  test('what was not begun is handed back at once, while others are still under way', async () => {
    const { run, due, clock, dueNow } = await chunk(MANY)
    const { on, begun, end } = work()
    const stop = new AbortController()
    let ended = false
    const working = run(on, { signal: stop.signal }).finally(() => {
      ended = true
    })
    const underWay = [...begun]
    clock.move(1_000)
    stop.abort(new Error('SIGTERM'))
    await eventually('the rest is due', async () => (await dueNow()) === MANY.length - underWay.length)
    expect(ended).toBe(false)
    end()
    await working
    expect(begun).toEqual(underWay)
    for (const hubId of MANY) {
      const at = await due.when('poll', hubId)
      if (underWay.includes(hubId)) expect(at).toBeGreaterThan(clock.now())
      else expect(at).toBe(clock.now())
    }
  })

  test('a chunk that comes late is handed back whole, and nothing is begun', async () => {
    const { run, dueNow } = await chunk(MANY)
    const { on, begun } = work()
    await run(on, { signal: ABORTED })
    expect(begun).toEqual([])
    expect(await dueNow()).toBe(MANY.length)
  })

  test('a chunk is not done before what is left of it is handed back: the store is closed next', async () => {
    const { run, store, keys } = await chunk([1])
    const events: string[] = []
    const { promise, resolve } = Promise.withResolvers<void>()
    class Slow extends DueSets {
      override async plan(...[, hubIds]: Parameters<DueSets['plan']>): Promise<void> {
        await promise
        events.push(`handed back ${hubIds}`)
      }
    }
    const working = run(work().on, { signal: ABORTED, due: new Slow(store, keys) })
    const done = working.then(() => events.push('done'))
    await new Promise((later) => setImmediate(later))
    resolve()
    await done
    expect(events).toEqual(['handed back 1', 'done'])
  })

  test('a chunk that is done already is left alone', async () => {
    const { run, store, keys } = await chunk([1])
    let plans = 0
    class Counting extends DueSets {
      override async plan(): Promise<void> {
        plans++
      }
    }
    const stop = new AbortController()
    await run(async () => {}, { signal: stop.signal, due: new Counting(store, keys) })
    stop.abort(new Error('SIGTERM'))
    expect(plans).toBe(0)
  })

  test('what cannot be handed back is left to the end of its claim, and said so', async () => {
    const { run, lines, store, keys } = await chunk([1])
    class Gone extends DueSets {
      override plan(): Promise<void> {
        return Promise.reject(new Error('Connection is closed.'))
      }
    }
    await run(work().on, { signal: ABORTED, kind: 'refresh', due: new Gone(store, keys) })
    expect(lines()).toMatchObject([{ level: 'warn', code: 'refresh.error', err: { message: 'Connection is closed.' } }])
  })
})
