import type { ProviderClient } from '../../src/provider/client.ts'
import { Secret } from '../../src/runtime/secret.ts'
import type { Process, World } from './world.ts'

/**
 * What becomes of a refresh token that is redeemed: the same comes back, or a new one. Then the old one is over at once, or
 * when the new one is used for the first time.
 */
export type Rotation = 'same' | 'rotating' | 'overlapping'

export interface IssuedToken {
  hubId: number
  is: 'alive' | 'consumed' | 'deleted' | 'replaced'
  /** The number of the grant that it comes of. */
  grant: number
  /** The processes that it was told to. */
  seenBy: Process[]
  /** The one that was redeemed for it. */
  before?: IssuedToken
}

interface Redeeming {
  name: string
  process: Process
  at: number
}

/** What the provider refuses for a while. */
export type Mood = 'well' | 'throttles' | 'refuses the app' | 'refuses tokens' | 'deletes nothing' | 'knows no owner'

const LIFETIME_MS = 1_800_000
/** A client gives a call up after so long. */
const LONGEST_CALL_MS = 10_000
const THROTTLED = {
  class: 'transient',
  code: '429',
  message: 'too many calls',
  status: 429,
  retryAfterMs: 7_000,
} as const
const REFUSED = { class: 'client', code: 'invalid_client', message: 'the secret is not known', status: 401 } as const
const AT_FAULT = { class: 'transient', code: '500', message: 'at fault', status: 500 } as const
const LOST = { class: 'transient', code: 'network', message: 'the connection broke', status: 0 } as const

/** Stands in for the provider, and keeps a record of its own of each token that it ever gave out. */
export class StandInProvider {
  readonly rotation: Rotation
  readonly issued = new Map<string, IssuedToken>()
  /** How many custom properties an account has, of 1,000. */
  readonly usage = new Map<number, number>()
  mood: Mood = 'well'
  /** Accounts with a grant whose answer came to a living process, and that were not uninstalled since. */
  readonly granted = new Map<number, Process>()
  /** Grants whose refresh tokens are refused, since the last refresh of each. */
  readonly refusedFor = new Map<number, { since: number; last: number }>()
  /** Accounts whose refresh token was sent by two at once. */
  readonly redeemedTwice = new Set<number>()
  readonly #redeeming = new Set<Redeeming>()
  /** Hears of each refresh token that is sent. */
  onRedeem = (_process: Process, _hubId: number) => {}
  /** Whether the answer to a code names the account: else it is asked for. */
  readonly #namesOwner: boolean
  readonly #codes = new Map<string, number>()
  readonly #access = new Map<string, number>()
  #count = 0
  #grants = 0

  constructor(rotation: Rotation, namesOwner: boolean) {
    this.rotation = rotation
    this.#namesOwner = namesOwner
  }

  /** A customer allows it, and is sent to us with a code. */
  authorize(hubId: number): string {
    const code = `code-${++this.#count}`
    this.#codes.set(code, hubId)
    return code
  }

  /** A new grant takes the place of the account's older ones. */
  grant(hubId: number): string {
    for (const token of this.of(hubId)) if (token.is === 'alive') token.is = 'replaced'
    return this.#issue({ hubId, is: 'alive', grant: ++this.#grants, seenBy: [] })
  }

  of(hubId: number): IssuedToken[] {
    return [...this.issued.values()].filter((token) => token.hubId === hubId)
  }

  /** As a process sees it. */
  clientFor(world: World, process: Process): ProviderClient {
    const ask = <T>(label: string, work: () => T) => world.ask(process, 'provider', label, async () => work())
    const rejected = { class: 'rejected', code: 'BAD_REFRESH_TOKEN', message: 'not known', status: 400 } as const
    const tell = (hubId: number, refreshToken: string) => {
      const access = `access-${++this.#count}`
      this.#access.set(access, hubId)
      const owner = { hubId, scopes: ['oauth'] }
      const both = { accessToken: new Secret(access), refreshToken: new Secret(refreshToken) }
      return { ok: true as const, value: { ...both, lifetimeMs: LIFETIME_MS, owner } }
    }
    const heard = <T extends { ok: boolean }>(answer: T): T => {
      const { value } = answer as { value?: { refreshToken?: Secret } }
      if (value?.refreshToken !== undefined) this.issued.get(value.refreshToken.reveal())?.seenBy.push(process)
      return answer
    }
    const client: Partial<ProviderClient> = {
      exchangeCode: async (code) => {
        const answer = heard(
          await ask(`exchange ${code.reveal()}`, () => {
            const hubId = this.#codes.get(code.reveal())
            if (hubId === undefined) return { ok: false as const, failure: rejected }
            const failure = this.#refusal()
            if (failure !== undefined) return { ok: false as const, failure }
            this.#codes.delete(code.reveal())
            const { owner, ...value } = tell(hubId, this.grant(hubId)).value
            return { ok: true as const, value: this.#namesOwner ? { ...value, owner } : value }
          }),
        )
        if (!answer.ok) return answer
        const { hubId } = this.issued.get(answer.value.refreshToken.reveal()) as IssuedToken
        this.granted.set(hubId, process)
        return answer
      },
      refresh: async (refreshToken) => {
        const end = this.#beginToRedeem(refreshToken.reveal(), process)
        const answer = await ask(`redeem ${refreshToken.reveal()}`, () => {
          const failure = this.#refusal()
          if (failure !== undefined) return { ok: false as const, failure }
          const next = this.mood === 'refuses tokens' ? undefined : this.#redeem(refreshToken.reveal())
          if (next === undefined) return this.#refuse(refreshToken.reveal(), world.now, rejected)
          const { hubId, grant } = this.issued.get(next) as IssuedToken
          this.refusedFor.delete(grant)
          const { owner: _, ...value } = tell(hubId, next).value
          return { ok: true as const, value }
        })
        end()
        return heard(answer)
      },
      deleteRefreshToken: (refreshToken) =>
        ask(`delete ${refreshToken.reveal()}`, () => {
          if (this.mood === 'deletes nothing') return { ok: false as const, failure: AT_FAULT }
          const token = this.issued.get(refreshToken.reveal())
          if (token?.is !== 'alive') return { ok: true as const, value: 'was-gone' as const }
          token.is = 'deleted'
          return { ok: true as const, value: 'deleted' as const }
        }),
      metadata: (access) =>
        ask(`metadata ${access.reveal()}`, () => {
          if (this.mood === 'throttles') return { ok: false as const, failure: THROTTLED }
          if (this.mood === 'knows no owner') return { ok: false as const, failure: AT_FAULT }
          const hubId = this.#access.get(access.reveal()) ?? 0
          const value = { hubId, hubDomain: `${hubId}.example.com`, user: 'ada', scopes: ['oauth'] }
          return { ok: true as const, value: { ...value, lifeLeftMs: undefined } }
        }),
      limits: (access, { endpoint, read }) =>
        ask(`usage ${access.reveal()}`, () => {
          if (endpoint !== 'customProperties') throw new Error(`${endpoint} was not to be called`)
          const overallUsage = this.usage.get(this.#access.get(access.reveal()) ?? 0) ?? 0
          const body = { overallLimit: 1_000, overallUsage, overallPercentage: overallUsage / 10, byObjectType: [] }
          return { ok: true as const, value: read(Buffer.from(JSON.stringify(body))) }
        }),
    }
    return client as ProviderClient
  }

  /** What comes back of a call whose answer was lost on the way. */
  static readonly lost = { ok: false as const, failure: LOST }

  #refuse<T>(name: string, now: number, failure: T) {
    const grant = this.issued.get(name)?.grant ?? 0
    const { since } = this.refusedFor.get(grant) ?? { since: now }
    this.refusedFor.set(grant, { since, last: now })
    return { ok: false as const, failure }
  }

  /** No two processes redeem one token; whoever took it a while ago may have it no more. */
  #beginToRedeem(name: string, process: Process): () => void {
    const at = process.clock.steady()
    const hubId = this.issued.get(name)?.hubId ?? 0
    this.onRedeem(process, hubId)
    const isNow = (other: Redeeming) => other.name === name && other.process.isAlive && at - other.at < LONGEST_CALL_MS
    if ([...this.#redeeming].some(isNow)) this.redeemedTwice.add(hubId)
    const one = { name, process, at }
    this.#redeeming.add(one)
    return () => this.#redeeming.delete(one)
  }

  #refusal() {
    if (this.mood === 'throttles') return THROTTLED
    return this.mood === 'refuses the app' ? REFUSED : undefined
  }

  #redeem(name: string): string | undefined {
    const token = this.issued.get(name)
    if (token?.is !== 'alive') return undefined
    if (token.before?.is === 'alive') token.before.is = 'consumed'
    if (this.rotation === 'same') return name
    if (this.rotation === 'rotating') token.is = 'consumed'
    // Redeemed again before its successor was used: that one is given out no more.
    for (const other of this.issued.values()) if (other.before === token && other.is === 'alive') other.is = 'replaced'
    return this.#issue({ hubId: token.hubId, is: 'alive', grant: token.grant, seenBy: [], before: token })
  }

  #issue(token: IssuedToken): string {
    const name = `refresh-${++this.#count}`
    this.issued.set(name, token)
    return name
  }
}
