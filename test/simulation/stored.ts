import { createDecipheriv } from 'node:crypto'
import { readPollState } from '../../src/limits/poll-state-text.ts'
import type { Store } from '../../src/redis/connect.ts'

/**
 * What Redis holds, for the judge: read by plain commands and shared with no reader of the product, so that a wrong one hides no
 * fault. All names of keys of the simulation are here.
 */
export const NAMES = {
  /** All but the clock of Redis. */
  all: '{s}:*',
  account: (hubId: number) => `{s}:account:${hubId}`,
  tokens: (hubId: number) => `{s}:tokens:${hubId}`,
  access: (hubId: number) => `{s}:access:${hubId}`,
  poll: (hubId: number) => `{s}:poll:${hubId}`,
  due: (kind: 'refresh' | 'poll' | 'uninstall') => `{s}:due:${kind}`,
  transitions: '{s}:transitions',
  accountLog: '{s}:account-log',
  unsent: '{s}:unsent',
  grantsDue: '{s}:due:grant',
  canaries: '{s}:canaries',
  fleet: '{s}:fleet',
  daemons: '{s}:daemons',
  known: (receiver: string) => `{s}:known:${receiver}`,
  held: (receiver: string) => `{s}:held:${receiver}`,
  waiting: '{s}:waiting',
  underWay: '{s}:under-way',
  /** What is made for each group, or delivery, and goes by itself one day. */
  passing: ['{s}:recent:', '{s}:delivery:'],
}

/** What a receiver was told last of an alert, or is never told. */
export interface Told {
  number: number
  isOver?: boolean
  /** Why it was not told. */
  why?: string
}

export interface StoredAccess {
  /** What is known with the token: its version, its times, the domain. */
  facts: string
  sealed: Buffer
}

export class Stored {
  readonly redis: Store

  constructor(redis: Store) {
    this.redis = redis
  }

  field(hubId: number, name: string): Promise<string | null> {
    return this.redis.hget(NAMES.account(hubId), name)
  }

  /** The refresh tokens that are redeemed, sealed: the stored one, then those before it. */
  async refreshTokens(hubId: number): Promise<Buffer[]> {
    const { refresh, ...others } = await this.redis.hgetallBuffer(NAMES.tokens(hubId))
    const before = Object.keys(others).filter((name) => name.startsWith('previous'))
    return [refresh, ...before.sort().map((name) => others[name])].filter((sealed) => sealed !== undefined)
  }

  async access(hubId: number): Promise<StoredAccess | undefined> {
    const found = await this.redis.getBuffer(NAMES.access(hubId))
    const end = found?.indexOf('\n') ?? -1
    return found == null ? undefined : { facts: found.toString('utf8', 0, end), sealed: found.subarray(end + 1) }
  }

  /** What the record has of the access token. */
  async factsOfRecord(hubId: number): Promise<string> {
    const names = ['version', 'obtainedAt', 'expiresAt', 'hubDomain']
    return (await this.redis.hmget(NAMES.account(hubId), ...names)).join(' ')
  }

  async polledAt(hubId: number): Promise<number> {
    const text = await this.redis.getBuffer(NAMES.poll(hubId))
    return text === null ? 0 : (readPollState(text)?.polledAt ?? 0)
  }

  async dueAt(hubId: number, kind: 'refresh' | 'poll' | 'uninstall'): Promise<number> {
    return Number((await this.redis.zscore(NAMES.due(kind), String(hubId))) ?? Number.POSITIVE_INFINITY)
  }

  /** When the first grant is due whose account is not known yet. */
  async nextGrant(): Promise<number | undefined> {
    const [, at] = await this.redis.zrange(NAMES.grantsDue, 0, '0', 'WITHSCORES')
    return at === undefined ? undefined : Number(at)
  }

  /** Ids of the transitions that were committed of an account. */
  async committed(hubId: number): Promise<string[]> {
    const entries = await this.redis.xrange(NAMES.transitions, '-', '+')
    const alerts = entries.map(([, [, text = '']]) => JSON.parse(text).alert)
    return alerts.filter(({ account }) => account?.hubId === hubId).map(({ id }) => id)
  }

  /** How often it was noted that the account came, or came back. */
  async installs(hubId: number): Promise<number> {
    const entries = await this.redis.xrange(NAMES.accountLog, '-', '+')
    return entries.filter(([, [, of, , event]]) => of === String(hubId) && event !== 'uninstalled').length
  }

  /** By alert. */
  async told(receiver: string): Promise<Map<string, Told>> {
    const known = Object.entries(await this.redis.hgetall(NAMES.known(receiver)))
    return new Map(
      known.flatMap(([alert, text]) => (JSON.parse(text).lastSent ? [[alert, JSON.parse(text).lastSent]] : [])),
    )
  }

  /** Alerts that are held back, each by what (an id of a silence, or undefined), and when they are checked again. */
  async held(receiver: string): Promise<{ by: string | undefined; checkAt: number }[]> {
    const known = Object.entries(await this.redis.hgetall(NAMES.known(receiver)))
    const scores = known.map(([alert]) => this.redis.zscore(NAMES.held(receiver), alert))
    const checks = await Promise.all(scores)
    return known.flatMap(([, text], n) => {
      const check = checks[n]
      return check == null ? [] : [{ by: JSON.parse(text).waits?.held?.id, checkAt: Number(check) }]
    })
  }

  /** What is on its way, or not settled. */
  async unsettled(): Promise<string[]> {
    const names = [NAMES.waiting, NAMES.underWay, NAMES.unsent]
    const counts = await Promise.all(names.map((name) => this.redis.zcard(name)))
    return names.filter((_, n) => counts[n] !== 0)
  }

  /** A name of a key that should go by itself, and does not. */
  async endless(): Promise<string | undefined> {
    for (const prefix of NAMES.passing) {
      for (const key of await this.redis.keys(`${prefix}*`)) if ((await this.redis.pttl(key)) === -1) return prefix
    }
    return undefined
  }

  async isUsed(keyId: string): Promise<boolean> {
    return (await this.redis.hexists(NAMES.canaries, keyId)) === 1
  }
}

/** A sealed value: 1, length of the key's id, that id, nonce, tag, ciphertext. */
export function keyIdOf(sealed: Buffer): string {
  return sealed.toString('utf8', 2, 2 + (sealed[1] ?? 0))
}

/** Undefined: it is no refresh token of this account, or under none of these keys. */
export function openRefreshToken(
  sealed: Buffer,
  hubId: number,
  keys: readonly { id: string; key: Buffer }[],
): string | undefined {
  const from = 2 + (sealed[1] ?? 0)
  const key = keys.find(({ id }) => id === keyIdOf(sealed))?.key
  if (key === undefined) return undefined
  const opened = createDecipheriv('aes-256-gcm', key, sealed.subarray(from, from + 12))
  opened.setAAD(Buffer.from(`${hubId}:refresh`)).setAuthTag(sealed.subarray(from + 12, from + 28))
  try {
    return opened.update(sealed.subarray(from + 28)).toString() + opened.final().toString()
  } catch {
    return undefined
  }
}
