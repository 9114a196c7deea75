import { UnreadableData } from '../redis/account-record.ts'
import { refusesWrites } from '../redis/away.ts'
import { claimMark, freshChance } from '../redis/claim-mark.ts'
import type { Store } from '../redis/connect.ts'
import { Gathering } from '../redis/gathering.ts'
import type { AccountState, Keys } from '../redis/keys.ts'
import type { Stored } from '../redis/scripts.ts'
import { type AlertWrites, NO_ACCOUNT, stepJson } from '../redis/steps.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Secret } from '../runtime/secret.ts'
import type { AfterFailure } from './after-failure.ts'
import type { TokenTimes } from './plan-refresh.ts'
import { readAccess } from './stored-access.ts'
import type { Vault } from './vault.ts'

/** Facts that a refresh begins with. */
export interface RefreshContext {
  state: AccountState
  hubDomain: string
  /** Moves on with every write of tokens; a write with an older one is refused. */
  version: string
  times: TokenTimes
  failures: number
  rejectedAt: number | null
  refreshedAt: number
  refreshToken: Buffer
  /** Refresh tokens from before, while none that took their place has worked. */
  previousTokens: readonly Buffer[]
  /** When the next attempt is planned after a failed one, or null. */
  retryAt: number | null
  /** State of the account's token alert as stored, '' = none. */
  tokenAlert: string
  /** When a refresh of this account broke off, its worker dead or the answer lost, and no refresh has succeeded since; else null. */
  interruptedAt: number | null
  /** The account was imported, and the provider was not asked yet for the account of its tokens. */
  isUnidentified: boolean
  /** The tokens may be another account's: it was imported. */
  mayBeForeign: boolean
}

/** An account that was claimed for a refresh. */
export interface ClaimedRefresh {
  hubId: number
  /** The account's score in its due set: the worker that brought it about has the account to itself. */
  claim: number
  /** Since the claim was asked for, ms. */
  age: () => number
}

/** The same, as it was read then. */
export interface ReadRefresh extends ClaimedRefresh {
  /** `gone`: it is unknown, or to be refreshed no more; `held`: another worker has it. An error: its stored data can't be read. */
  context: RefreshContext | 'gone' | 'held' | Error
}

/** The provider's answer to a refresh, in clear: it is encrypted by the key that is in force when it is written. */
export interface AnswerToStore {
  hubId: number
  /** The claim of the refresh. */
  claim: number
  version: string
  access: Secret
  /** Absent: the one that is stored stays. */
  refresh: Secret | undefined
  /** The answer came for a refresh token before the stored one, which was refused. */
  isOfPrevious?: boolean
  mayBeForeign?: boolean
  times: TokenTimes
  refreshAt: number
  pollAt: number | 'unchanged'
  alerts: AlertWrites
}

/** The tokens of an install on their way into Redis, in clear: its account is not known for sure yet. */
export interface Grant {
  hubId: typeof NO_ACCOUNT
  id: string
  access: Secret
  refresh: Secret
  times: TokenTimes
  /** When the code was sent, ms. */
  grantedAt: number
  /** Asked for by a link for one account: of another one it is dropped. */
  only: number | undefined
  /** The version of its account that it makes. */
  version: number
  /** The account, once it is stored. */
  account?: number | undefined
}

/** Tokens that the provider has just given, and Redis has not: the answer to a refresh, or the grant of an install. */
export type TokensToStore = AnswerToStore | Grant

/** The stored access token of an account. Times are ms. */
export interface StoredToken {
  state: AccountState
  version: string
  obtainedAt: number
  expiresAt: number
  /** When the next refresh is planned after a failed one, or null. */
  retryAt: number | null
  /** Encrypted; null where there is none. */
  accessToken: Buffer | null
  scopes: string[]
  /** The provider was not asked yet for the token's account: the account was imported. */
  metadataDue: boolean
  /** True while a worker refreshes it. */
  isHeld: boolean
}

/** The side of the store that has the tokens, to refresh them and to hand them out. */
export class TokenStore {
  readonly #store: Store
  readonly #storing: Gathering<Stored>
  readonly #keys: Keys
  readonly #clock: Pick<Clock, 'stopwatch'>
  readonly #mark: () => number

  /** `chance`: a number from 0 up to, and not including, 1. */
  constructor(store: Store, keys: Keys, clock: Pick<Clock, 'stopwatch'>, chance = freshChance) {
    this.#store = store
    this.#storing = new Gathering((...call) => store.storeTokens(...call))
    this.#keys = keys
    this.#clock = clock
    this.#mark = () => claimMark(chance())
  }

  /**
   * Claims up to `most` accounts whose tokens are due, for so long: then one that is not done is due again. Where more are due, most of
   * them are the nearest to the end of their tokens, from the one at `first` on: from 0, the nearest, up to 1, the farthest.
   */
  claim(most: number, ms: number, first = 0): Promise<ReadRefresh[]> {
    return this.#claim(NO_ACCOUNT, ms, most, first)
  }

  /** Claims one account, whenever it is due. */
  async claimOne(hubId: number, ms: number): Promise<ReadRefresh> {
    const [claimed] = (await this.#claim(hubId, ms)) as [ReadRefresh]
    return claimed
  }

  async #claim(hubId: number, ms: number, ...which: number[]): Promise<ReadRefresh[]> {
    const age = this.#clock.stopwatch()
    const claimed = await this.#store.claimRefreshesBuffer(this.#keys.own(hubId), ms, this.#mark(), ...which)
    if (Buffer.isBuffer(claimed)) {
      return [{ hubId, claim: 0, age, context: claimed.toString() === 'held' ? 'held' : 'gone' }]
    }
    const [claim, ...read] = claimed
    return read.map(([id, ...parts]) => ({
      hubId: Number(id),
      claim: Number(claim),
      age,
      context: readContext(parts, id),
    }))
  }

  /** Ends a refresh that came to nothing, and puts the account where its plan says. */
  async leave(hubId: number, claim: number, refreshAt: number): Promise<void> {
    await this.#store.moveClaim(this.#keys.due.refresh, hubId, claim, Math.round(refreshAt))
  }

  /** `again`: they were stored before, and may have been lost. */
  storeTokens(answer: AnswerToStore, vault: Vault, again = false): Promise<Stored> {
    const { hubId, claim, version, access, refresh, times, refreshAt, alerts } = answer
    const pollAt = answer.pollAt === 'unchanged' ? '-' : answer.pollAt
    const whose = answer.mayBeForeign === true ? '-' : 'own'
    const redeemed = answer.isOfPrevious === true ? 'previous' : '-'
    return this.#storing.ask(this.#keys.own(hubId), [
      `${hubId} ${claim} ${version} ${times.obtainedAt} ${times.expiresAt} ${refreshAt} ${pollAt} ${again ? 'again' : '-'} ${redeemed} ${whose}`,
      vault.seal(access, hubId, 'access'),
      refresh === undefined ? '' : vault.seal(refresh, hubId, 'refresh'),
      alerts.changes.length + alerts.entries.length === 0 ? '' : stepJson(alerts),
    ])
  }

  /** `gone`: newer tokens of the grant are there, or its account is stored. `nextAt`: its next try, ms. */
  parkGrant(grant: Grant, vault: Vault, nextAt: number): Promise<'parked' | 'gone'> {
    const { id, access, refresh, times, grantedAt, only, version, account = NO_ACCOUNT } = grant
    return this.#store.parkGrant(
      this.#keys.own(account),
      id,
      nextAt,
      version,
      vault.seal(refresh, NO_ACCOUNT, 'refresh'),
      'access',
      vault.seal(access, NO_ACCOUNT, 'access'),
      'obtainedAt',
      times.obtainedAt,
      'expiresAt',
      times.expiresAt,
      'grantedAt',
      grantedAt,
      ...(only === undefined ? [] : ['only', only]),
    )
  }

  /** `fields` of the account's hash; '' takes one away. */
  recordFailure(
    hubId: number,
    claim: number,
    version: string,
    record: Pick<AfterFailure, 'state' | 'refreshAt' | 'pollAt'> & {
      fields: Record<string, string>
      alerts: AlertWrites
    },
  ): Promise<'recorded' | 'lost'> {
    return this.#store.recordRefreshFailure(
      this.#keys.own(hubId),
      hubId,
      claim,
      version,
      record.state,
      Math.round(record.refreshAt),
      record.pollAt === 'unchanged' ? '' : record.pollAt,
      stepJson(record.fields),
      stepJson(record.alerts),
    )
  }

  /** Undefined: there is no such account. */
  async read(hubId: number): Promise<StoredToken | undefined> {
    const { account, tokens } = this.#keys.account(hubId)
    const [fields, access, scopes, due] = await Promise.all([
      this.#store.hmget(account, 'state', 'version', 'retryAt', 'metadataDue'),
      readAccess(this.#store, this.#keys, hubId),
      this.#store.hget(tokens, 'scopes'),
      this.#store.zscore(this.#keys.due.refresh, hubId),
    ])
    const [state, version, retryAt, metadataDue] = fields
    if (state === null || state === undefined) return undefined
    return {
      state: state as AccountState,
      // The version of this very token: it is handed out while that is the account's.
      version: access?.version ?? version ?? '',
      obtainedAt: access?.times.obtainedAt ?? 0,
      expiresAt: access?.times.expiresAt ?? 0,
      retryAt: retryAt === null || retryAt === undefined ? null : Number(retryAt),
      accessToken: access?.sealed ?? null,
      scopes: scopes === null || scopes === '' ? [] : scopes.split(' '),
      metadataDue: metadataDue === '1',
      // The clock is asked only where a refresh is under way.
      isHeld: Number(due) % 1 > 0 && Number(due) > (await this.#store.readTime(this.#keys.fleet)),
    }
  }

  /**
   * Notes the caller that gets the token of a version; `stale` if that is not the account's any more. A Redis that takes no
   * write has compared versions before it refused: the token is handed out all the same, and the log alone names the caller.
   * Callers have customers waiting, and their tokens work.
   */
  async noteServed(hubId: number, version: string, now: number, to: string): Promise<'noted' | 'stale'> {
    try {
      return await this.#store.noteTokenServed(this.#keys.own(hubId), version, now, to)
    } catch (error) {
      if (refusesWrites(error)) return 'noted'
      throw error
    }
  }
}

/** Context of a claimed account, from the answer of `readRefresh` behind its id. */
function readContext(read: readonly (Buffer | Error)[], hubId: unknown): ReadRefresh['context'] {
  const [lines, refreshToken, ...previous] = read as Buffer[]
  if (lines === undefined || lines instanceof Error) return lines ?? 'gone'
  const text = lines.toString()
  // Before its token is redeemed: other stored values could not show the outcome.
  if (READABLE.test(text)) return contextIn(text, refreshToken as Buffer, previous)
  return new UnreadableData(`account ${hubId}: its record can't be read`)
}

/** Lines of `readRefresh` as they should be: state, version, then moments and counts. */
const READABLE = /^(?:active|failing|parked|reauthorize)\n\d{1,16}(?:\n(?:\d{1,16}(?:\.\d+)?)?){7}\n/

/** From the lines that `readRefresh` returns. The domain is the last: it is the only one that others chose. */
function contextIn(lines: string, refreshToken: Buffer, previousTokens: readonly Buffer[]): RefreshContext {
  const [state, version, obtainedAt, expiresAt, failures, rejectedAt, ...more] = lines.split('\n')
  const [refreshedAt, retryAt, interruptedAt, metadataDue, tokenAlert, ...hubDomain] = more
  return {
    state: state as AccountState,
    hubDomain: hubDomain.join('\n'),
    version: version ?? '',
    times: { obtainedAt: Number(obtainedAt), expiresAt: Number(expiresAt) },
    failures: Number(failures),
    rejectedAt: momentOf(rejectedAt),
    refreshedAt: Number(refreshedAt),
    refreshToken,
    previousTokens,
    retryAt: momentOf(retryAt),
    tokenAlert: tokenAlert ?? '',
    interruptedAt: momentOf(interruptedAt),
    isUnidentified: metadataDue !== '',
    mayBeForeign: metadataDue === '2',
  }
}

function momentOf(text: string | undefined): number | null {
  return text === undefined || text === '' ? null : Number(text)
}
