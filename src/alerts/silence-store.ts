import { randomInt } from 'node:crypto'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { isInForce, isOver, MATCHER_NAMES, type Matcher, type Silence, withCarriers } from './silence.ts'

/** How long one that is over is kept, so that it can be shown why nothing was sent. */
const KEEP_MS = 5 * 86_400_000

/** Without vowels, so that they make no words, and without letters that are easily confused. */
const LETTERS = '23456789bcdfghjkmnpqrstvwxz'
const ID_LENGTH = 5

export type EndedSilence = { is: 'ended' | 'over'; silence: Silence } | { is: 'unknown' }

/** The silences in Redis, each with the accounts that its tags mean. */
export class SilenceStore {
  readonly #store: Store
  readonly #key: string
  readonly #tags: Readonly<Record<string, readonly string[]>>

  constructor(store: Store, keys: Keys, tags: Readonly<Record<string, readonly string[]>>) {
    this.#store = store
    this.#key = keys.delivery.silences
    this.#tags = tags
  }

  /** The tags that there are. */
  get tagNames(): readonly string[] {
    return Object.keys(this.#tags)
  }

  async add(silence: Omit<Silence, 'id'>): Promise<Silence> {
    for (;;) {
      const id = newId()
      if ((await this.#store.hsetnx(this.#key, id, encode(silence))) === 0) continue
      const [made = { ...silence, id }] = this.withCarriers([{ ...silence, id }])
      return made
    }
  }

  /** Also one that is not made yet: to see what it would cover. */
  withCarriers(silences: readonly Silence[]): Silence[] {
    return withCarriers(silences, this.#tags)
  }

  /** Ends one before its time; alerts that still fire are sent. `over`: it had ended already. */
  async end(id: string, now: number): Promise<EndedSilence> {
    const stored = await this.#store.hget(this.#key, id)
    const before = stored === null ? undefined : decode(id, stored)
    if (before === undefined) return { is: 'unknown' }
    const silence = { ...before, endsAt: Math.min(before.endsAt, now), isEnded: true }
    await this.#store.hset(this.#key, id, encode(silence))
    // Again where it was over already: the process that ended it may not have come this far.
    await this.#store.recheckWaiting(this.#key)
    return { is: isOver(before, now) ? 'over' : 'ended', silence }
  }

  /** In force now, the one that ends first before others. */
  async active(now: number): Promise<Silence[]> {
    return (await this.current(now)).filter((silence) => isInForce(silence, now))
  }

  /** Silences in force, and those that begin later. */
  async current(now: number): Promise<Silence[]> {
    const all = await this.all()
    const old = all.filter(({ endsAt }) => endsAt + KEEP_MS <= now).map(({ id }) => id)
    if (old.length > 0) await this.#store.hdel(this.#key, ...old)
    return all.filter((silence) => !isOver(silence, now))
  }

  /** All silences, also those that ended in the last days. */
  async all(): Promise<Silence[]> {
    const stored = Object.entries(await this.#store.hgetall(this.#key))
    const silences = stored.map(([id, text]) => decode(id, text)).filter((silence) => silence !== undefined)
    return this.withCarriers(silences).sort((a, b) => a.endsAt - b.endsAt || (a.id < b.id ? -1 : 1))
  }
}

function newId(): string {
  return `s-${Array.from({ length: ID_LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join('')}`
}

function encode({ matchers, ...silence }: Omit<Silence, 'id'>): string {
  return JSON.stringify({ ...silence, matchers: matchers.map(({ name, value }) => ({ name, value })) })
}

/**
 * One that a newer version wrote, with a matcher that is not known here, is not taken for a wider one, and one
 * that matches by nothing not for one that means all. What is spoilt must not hold back every alert.
 */
function decode(id: string, stored: string): Silence | undefined {
  try {
    const silence = JSON.parse(stored) as Silence
    const isKnown = ({ name, value }: Matcher) => MATCHER_NAMES.includes(name) && typeof value === 'string'
    const isMeant = silence.matchers.length > 0 && silence.matchers.every(isKnown) && Number.isFinite(silence.endsAt)
    return isMeant ? { ...silence, id } : undefined
  } catch {
    return undefined
  }
}
