import { loadReadings } from '../../src/limits/load-readings.ts'
import { seriesId } from '../../src/limits/series.ts'
import type { Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'
import type { Roll } from './dice.ts'
import { send } from './fleet.ts'
import { stateIn } from './state-in.ts'

export const LEVELS = ['ok', 'warning', 'critical'] as const
export type Level = (typeof LEVELS)[number]

/** With thresholds at 80 and 95 % of 1,000. */
const USAGE: Record<Level, number> = { ok: 500, warning: 850, critical: 990 }

/** Series whose levels a test sets: what the provider reports, and so what must have been told of it. */
export class MovedSeries {
  /** Moves so far; each is one transition, because none is made before the one before it was committed. */
  moved = 0
  readonly #at: { store: Store; keys: Keys; sandboxUrl: string; roll: Roll }
  readonly #accounts: readonly { hubId: number; levels: Level[]; movedAt: number }[]

  constructor(
    at: { store: Store; keys: Keys; sandboxUrl: string; roll: Roll },
    hubIds: readonly number[],
    perAccount: number,
  ) {
    this.#at = at
    this.#accounts = hubIds.map((hubId) => ({ hubId, levels: Array(perAccount).fill('ok'), movedAt: 0 }))
  }

  /** Moves some series of each account that is committed as it stands, until so many were moved; has the others polled. */
  async move(upTo: number, now: number): Promise<void> {
    const { roll } = this.#at
    const isCommitted = await this.#committed()
    await Promise.all(
      this.#accounts.map(async (account, n) => {
        if (!isCommitted[n]) {
          // Whoever had claimed it may be dead: it would be due again after a minute.
          if (now - account.movedAt > 3_000) await this.#pollNow(account, now)
          return
        }
        const left = upTo - this.moved
        if (left <= 0) return
        const some = Math.min(left, 1 + roll(account.levels.length))
        this.moved += some
        const first = roll(account.levels.length)
        for (let k = first; k < first + some; k++) {
          const one = k % account.levels.length
          const before = account.levels[one] ?? 'ok'
          account.levels[one] = LEVELS[(LEVELS.indexOf(before) + 1 + roll(2)) % LEVELS.length] ?? 'ok'
        }
        await this.#report(account)
        await this.#pollNow(account, now)
      }),
    )
  }

  /** All of them, so that they are there before the first move. */
  async reportAll(): Promise<void> {
    for (const account of this.#accounts) await this.#report(account)
  }

  /** Every account was polled once. */
  async isRead(): Promise<boolean> {
    const { store, keys } = this.#at
    const read = await Promise.all(this.#accounts.map(({ hubId }) => loadReadings(store, keys, hubId)))
    return read.every((readings) => readings !== undefined)
  }

  async isCommitted(): Promise<boolean> {
    return (await this.#committed()).every(Boolean)
  }

  /** By account and object type. */
  wanted(): Map<string, Level> {
    return new Map(
      this.#accounts.flatMap(({ hubId, levels }) =>
        levels.map((level, n) => [`${hubId} ${typeOf(n)}`, level] as const),
      ),
    )
  }

  async #report({ hubId, levels }: { hubId: number; levels: readonly Level[] }): Promise<void> {
    const byObjectType = levels.map((level, n) => ({
      objectTypeId: typeOf(n),
      singularLabel: `Thing ${n}`,
      pluralLabel: `Things ${n}`,
      limit: 1_000,
      usage: USAGE[level],
      percentage: USAGE[level] / 10,
    }))
    const overall = { overallLimit: 100_000, overallUsage: 100, overallPercentage: 0.1 }
    const url = `${this.#at.sandboxUrl}/sandbox/accounts/${hubId}/custom-properties`
    const { status } = await send(url, 'PUT', { ...overall, byObjectType })
    if (status !== 204) throw new Error(`the sandbox answered ${status}`)
  }

  async #pollNow(account: { hubId: number; movedAt: number }, now: number): Promise<void> {
    const { store, keys } = this.#at
    account.movedAt = now
    await store.zadd(keys.due.poll, 'XX', now, account.hubId)
  }

  async #committed(): Promise<boolean[]> {
    const { store, keys } = this.#at
    return Promise.all(
      this.#accounts.map(async ({ hubId, levels }) => {
        const states = await store.hgetall(keys.account(hubId).alerts)
        return levels.every((level, n) => {
          const field = seriesId({ metric: 'customProperties.objectType', objectTypeId: typeOf(n) })
          const stored = states[field]
          return (stored === undefined ? 'ok' : (stateIn(stored).level ?? 'ok')) === level
        })
      }),
    )
  }
}

function typeOf(n: number): string {
  return `2-${1_000 + n}`
}
