import { isRedisAway } from '../redis/away.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { AnswerToStore, GrantToStore, TokenStore } from './token-store.ts'
import { holderFacts, holderOf, isGrant, type Unstored } from './unstored.ts'
import type { Vault } from './vault.ts'

const MINUTE_MS = 60_000
/** A worker has a grant to itself for so long: longer than all calls of a callback take. */
export const GRANT_CLAIM_MS = 60_000

export interface StoreAnswerDeps {
  tokens: TokenStore
  vault: Vault
  unstored: Unstored
  clock: Clock
  log: Logger
  /** Puts aside the unreadable values of an account. */
  repair?: (hubId: number) => Promise<void>
}

/** A refused write is tried again four times a second: sooner than the next sweep comes by. */
const STORE_AGAIN_MS = 250

type StoredAnswer = 'stored' | 'lost' | 'uninstalled'

/** The outcome of an attempt to store an answer. */
type Tried = { is: Awaited<ReturnType<TokenStore['storeTokens']>> } | { is: 'refused'; err: unknown }

/**
 * Tries for as long as the process lives. The store itself waits for a lost connection, without a word; a Redis that refuses
 * writes (out of memory, read-only, no replicas) is asked again, loudly. `again`: it was stored before, and may be lost.
 * `left`: the process ended first, or Redis knows no such account.
 */
export async function storeAnswer(
  deps: StoreAnswerDeps,
  answer: AnswerToStore,
  again = false,
): Promise<StoredAnswer | 'left'> {
  const tried = await tryToStore(deps, answer, again)
  return settled(deps, answer, tried) ?? keepStoring(deps, answer, again, tried)
}

function tryToStore({ tokens, vault }: StoreAnswerDeps, answer: AnswerToStore, again: boolean): Promise<Tried> {
  try {
    return tokens.storeTokens(answer, vault, again).then(
      (is) => ({ is }),
      (err: unknown) => ({ is: 'refused', err }),
    )
  } catch (err) {
    return Promise.resolve({ is: 'refused', err })
  }
}

/** Undefined: it is not stored, and not to be given up. */
function settled({ unstored, clock }: StoreAnswerDeps, answer: AnswerToStore, { is }: Tried): StoredAnswer | undefined {
  if (is !== 'stored' && is !== 'lost' && is !== 'uninstalled') return undefined
  unstored.settle(answer, is === 'stored', clock)
  return is
}

async function keepStoring(
  deps: StoreAnswerDeps,
  answer: AnswerToStore,
  again: boolean,
  first: Tried,
): Promise<StoredAnswer | 'left'> {
  const { hubId } = answer
  const { unstored, clock, log } = deps
  const isToBeSaid = onceAMinute(clock)
  // A data folder that takes no files either is not asked all the time: it logs its refusals.
  const isToBeSealed = onceAMinute(clock)
  let tried = first
  for (let attempt = 1; ; attempt++) {
    if (tried.is === 'refused' && !unstored.ending.aborted && isToBeSaid()) {
      const { err } = tried
      log.error({ code: 'token.not-stored', hubId, attempt, err }, 'new tokens could not be stored yet')
      // The step may have failed at the account's stored data: no refresh comes to find that out.
      if (!isRedisAway(err)) await deps.repair?.(hubId).catch(() => {})
    }
    const is = settled(deps, answer, tried)
    if (is !== undefined) return is
    if (unstored.ending.aborted) {
      unstored.seal(answer)
      return 'left'
    }
    if (tried.is === 'unknown' && isToBeSealed() && unstored.couldSeal(answer)) {
      log.error(
        { code: 'token.not-stored', hubId, attempt },
        'Redis knows no such account: it was emptied, or is another one. The new tokens wait for it in the data folder',
      )
      return 'left'
    }
    await clock.wait(STORE_AGAIN_MS, unstored.ending)
    tried = await tryToStore(deps, answer, again)
  }
}

/** True the first time, and again a minute after it last was. */
function onceAMinute(clock: Clock): () => boolean {
  let since: (() => number) | undefined
  return () => {
    if (since !== undefined && since() < MINUTE_MS) return false
    since = clock.stopwatch()
    return true
  }
}

/**
 * Stores a grant. Throws where Redis does not take it: the grant stays in memory then, is tried again every second, and is
 * sealed at the end. `nextAt`: when its sweep may try it, ms.
 */
export async function parkGrant(
  { tokens, vault, unstored, clock }: StoreAnswerDeps,
  grant: GrantToStore,
  nextAt: number,
): Promise<void> {
  unstored.keep(grant, clock)
  const is = await tokens.parkGrant(grant, vault, nextAt)
  unstored.settle(grant, is === 'parked', clock)
}

/** Asked once a second. Those that a callback or a job works on are left to it. Never throws. */
export async function storeGrantsInHand(deps: StoreAnswerDeps): Promise<void> {
  const { unstored, clock, log } = deps
  const idle = unstored.grants.filter(({ id }) => !unstored.has(id))
  await Promise.all(
    idle.map((grant) =>
      unstored.hold(grant.id, async () => {
        const is = await deps.tokens.parkGrant(grant, deps.vault, clock.now()).catch(() => 'refused' as const)
        if (is === 'refused') return // `sealOverdue` logs it.
        unstored.settle(grant, is === 'parked', clock)
        log.info({ code: 'token.unsealed', grant: grant.id, is }, 'a grant that Redis had refused')
      }),
    ),
  )
}

/**
 * A Redis that took over, or was started again, may have lost its last writes. Newer writes win: where nothing was lost, this
 * does nothing. Never throws: it is not awaited.
 */
export async function storeYoungAgain(deps: StoreAnswerDeps): Promise<void> {
  await deps.unstored.withYoung(async (young) => {
    try {
      if (isGrant(young)) return await parkGrant(deps, young, deps.clock.now() + GRANT_CLAIM_MS)
      deps.unstored.keep(young, deps.clock)
      await storeAnswer(deps, young, true)
    } catch (error) {
      deps.log.error(
        { code: 'token.not-stored', ...holderFacts(holderOf(young)), err: error },
        'new tokens could be neither stored again nor sealed',
      )
    }
  })
}
