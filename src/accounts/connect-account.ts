import type { TokenAnswer, TokenOwner } from '../provider/answers.ts'
import type { ProviderClient } from '../provider/client.ts'
import { opensLimits } from '../provider/dialects.ts'
import type { ProviderFailure, ProviderResult } from '../provider/failure.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { type AlertWrites, bothWrites, newOperation, stepJson } from '../redis/steps.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Secret } from '../runtime/secret.ts'
import type { TokenEndpoint } from '../tokens/endpoint/token-endpoint.ts'
import { CLOCK_SLACK_MS, planRefresh, type RefreshSettings } from '../tokens/plan-refresh.ts'
import type { TokenAnnouncer } from '../tokens/refresh-account.ts'
import type { Vault } from '../tokens/vault.ts'
import { askIdentity, type Identity } from './identity.ts'
import { CROSSING, forgetGrant, type Grant, keepGrant, noteOfGrant, planGrant } from './parked-grants.ts'

/** The alerts about the scopes that an account granted. */
export type ScopesAnnouncer = (account: GrantedAccount) => AlertWrites

export interface GrantedAccount {
  hubId: number
  hubDomain: string
  scopes: readonly string[]
  /** Whether polls will be answered with these scopes. */
  opensLimits: boolean
  /** State of the account's poll alert as stored, '' = none. */
  pollAlert: string
  now: number
}

export interface ConnectDeps {
  provider: ProviderClient
  store: Store
  keys: Keys
  vault: Vault
  announce: TokenAnnouncer
  announceScopes: ScopesAnnouncer
  settings: RefreshSettings
  clock: Clock
  log: Logger
}

export interface CodeDeps extends ConnectDeps {
  /** The door to the provider's token endpoint. */
  endpoint: Pick<TokenEndpoint, 'sendCode'>
}

export type ConnectOutcome =
  | { is: 'connected' | 'reconnected'; hubId: number; hubDomain: string; scopes: string[] }
  /** `proof`: another grant of the account was stored meanwhile, and the provider does not name the one that counts. */
  | { is: 'failed'; step: 'token' | 'metadata' | 'proof'; failure: ProviderFailure }

export type GrantOutcome =
  | ConnectOutcome
  /** It was asked for by a link for account `wanted`: it is stored only if it reconnects an account that was kept already. */
  | { is: 'other-account'; hubId: number; hubDomain: string; wanted: number; isReconnected: boolean }
  /** The grant is kept; whose it is, and whether it counts, is asked again by and by. */
  | { is: 'parked'; failure: ProviderFailure }

export type CodeOutcome =
  | GrantOutcome
  /** The code is as good as before: the provider takes none until then, ms. */
  | { is: 'waits'; until: number }

/** Exchanges the code of a finished install (interface 4.1) and stores the account, or else the grant. `only`: no other account. */
export async function connectWithCode(deps: CodeDeps, code: Secret, only?: number): Promise<CodeOutcome> {
  const sent = await deps.endpoint.sendCode(async () => {
    const sentAt = deps.clock.now()
    return { sentAt, answer: await deps.provider.exchangeCode(code) }
  })
  if (sent.is === 'closed') return { is: 'waits', until: sent.until }
  const { sentAt, answer } = sent
  if (!answer.ok) return { is: 'failed', step: 'token', failure: answer.failure }
  const { refreshToken, owner } = answer.value
  if (refreshToken === undefined) {
    const message = 'refresh_token is missing in the answer: without it the account cannot be kept'
    return { is: 'failed', step: 'token', failure: { class: 'client', code: 'unreadable', message, status: 200 } }
  }
  const grant = { ...grantOf(answer.value, refreshToken, sentAt), only }
  if (owner !== undefined) return connectGrant(deps, grant, owner)
  // The code is spent: from here on the grant must be found even if this process dies.
  const id = await keepGrant(deps, grant, deps.clock.now())
  const asked = await askIdentityPatiently(deps, grant)
  if (asked.ok) return connectGrant(deps, { id, ...grant }, asked.value)
  await planGrant(deps, id, deps.clock.now())
  return { is: 'parked', failure: asked.failure }
}

/** Stores the account of a grant whose code is spent. If it is open whether it counts, it is parked, or stays so. */
export async function connectGrant(
  deps: ConnectDeps,
  grant: Grant & { id?: string },
  whose: Whose,
): Promise<GrantOutcome> {
  const { only } = grant
  if (only === undefined || only === whose.hubId) return storeGrant(deps, grant, whose)
  // The provider may take no older refresh token of an account from now on: the new one of an account kept here must not be lost.
  if (!(await isKept(deps, whose.hubId))) return dropGrant(deps, grant.id, whose, only)
  const outcome = await storeGrant(deps, grant, whose)
  if (outcome.is !== 'connected' && outcome.is !== 'reconnected') return outcome
  const { hubId, hubDomain } = outcome
  return { is: 'other-account', hubId, hubDomain, wanted: only, isReconnected: true }
}

async function storeGrant(deps: ConnectDeps, grant: Grant & { id?: string }, whose: Whose) {
  let { id } = grant
  if (id !== undefined) await noteOfGrant(deps, id, { hubId: whose.hubId })
  const outcome = await storeAccount(deps, grant, whose, async (latest) => {
    id = await keepGrant(deps, { ...latest, id }, deps.clock.now())
  })
  if (id === undefined) return outcome
  if (outcome.is !== 'failed' || outcome.step !== 'proof') {
    await forgetGrant(deps, id)
    return outcome
  }
  await noteOfGrant(deps, id, { hubId: CROSSING })
  await planGrant(deps, id, deps.clock.now())
  return { is: 'parked' as const, failure: outcome.failure }
}

/** It is not deleted at the provider, where the account may have one refresh token for all its grants. */
async function dropGrant(
  deps: ConnectDeps,
  id: string | undefined,
  whose: Whose,
  wanted: number,
): Promise<GrantOutcome> {
  const { hubId } = whose
  if (id !== undefined) await forgetGrant(deps, id)
  deps.log.warn({ code: 'grant.other-account', hubId, wanted }, 'a grant is dropped: its link was for another account')
  return { is: 'other-account', hubId, hubDomain: fieldsOf(whose).hubDomain ?? '', wanted, isReconnected: false }
}

/**
 * Takes over an account that was installed before: its refresh token is redeemed at once, which proves it. If that
 * brings another one, `keepNew` gets it before anything else can fail: the one that was given may be worth nothing now.
 */
export async function connectWithRefreshToken(
  deps: ConnectDeps,
  refreshToken: Secret,
  keepNew: (refreshToken: Secret) => void,
): Promise<ConnectOutcome> {
  const sentAt = deps.clock.now()
  const answer = await deps.provider.refresh(refreshToken)
  if (!answer.ok) return { is: 'failed', step: 'token', failure: answer.failure }
  const latest = answer.value.refreshToken ?? refreshToken
  if (latest.reveal() !== refreshToken.reveal()) keepNew(latest)
  const grant = grantOf(answer.value, latest, sentAt)
  const asked = await askIdentityPatiently(deps, grant)
  if (!asked.ok) return { is: 'failed', step: 'metadata', failure: asked.failure }
  return storeAccount(deps, grant, asked.value, async ({ refreshToken }) => {
    if (refreshToken.reveal() !== latest.reveal()) keepNew(refreshToken)
  })
}

/** An answer's life counts from when the request was sent. */
export function grantOf({ accessToken, lifetimeMs }: TokenAnswer, refreshToken: Secret, sentAt: number): Grant {
  return { accessToken, refreshToken, times: { obtainedAt: sentAt, expiresAt: sentAt + lifetimeMs } }
}

/** Some answers name the owner alone: the first poll asks for the rest, and until then it is as it is known. */
type Whose = Identity | TokenOwner

function fieldsOf(whose: Whose): Record<string, string> {
  if (!('driftMs' in whose)) return { metadataDue: '1', tokenDriftMs: '' }
  const { hubDomain = '', user = '', driftMs } = whose
  return { hubDomain, user, tokenDriftMs: String(driftMs ?? '') }
}

async function storeAccount(
  deps: ConnectDeps,
  grant: Grant,
  whose: Whose,
  /** Gets what is to be proved, and what came of that, before anything else can fail. */
  keep: (latest: Grant) => Promise<void>,
): Promise<ConnectOutcome> {
  const operation = newOperation()
  const { hubId, scopes } = whose
  const fields = fieldsOf(whose)
  let { accessToken, refreshToken, times } = { ...grant, ...whose }
  let [provedAfter, previous] = ['', '' as Buffer | '']
  for (;;) {
    const { pollAlert, hubDomain: known, generation, ...before } = await openAlerts(deps, hubId)
    const hubDomain = fields.hubDomain ?? known
    const account = { hubId, hubDomain, now: deps.clock.now() }
    const alerts = bothWrites(
      deps.announce.recovered({ ...account, ...before }),
      deps.announceScopes({ ...account, scopes, opensLimits: opensLimits(scopes), pollAlert }),
    )
    const is = await deps.store.connectAccount(
      deps.keys.own(hubId),
      ...[hubId, deps.clock.now()],
      deps.vault.seal(accessToken, hubId, 'access'),
      deps.vault.seal(refreshToken, hubId, 'refresh'),
      ...[scopes.join(' '), times.obtainedAt, times.expiresAt, planRefresh(hubId, times, deps.settings).dueAt],
      stepJson(fields),
      stepJson(alerts),
      ...[operation, CLOCK_SLACK_MS, provedAfter, previous],
    )
    if (is === 'stale') continue
    if (is === 'crossing') {
      await keep({ accessToken, refreshToken, times })
      const proof = await proveAlive(deps, refreshToken)
      if ('is' in proof) return superseded(deps, proof, { hubId, hubDomain, scopes })
      if (proof.refreshToken.reveal() !== refreshToken.reveal()) {
        await keep(proof)
        // The one before stays until the new one has worked once.
        previous = deps.vault.seal(refreshToken, hubId, 'refresh')
      }
      ;({ accessToken, refreshToken, times } = proof)
      provedAfter = generation
      continue
    }
    await deps.store.set(deps.keys.delivery.connectedAt, deps.clock.now())
    deps.log.info({ code: 'account.connected', hubId, hubDomain, again: is === 'reconnected' }, 'account connected')
    return { is, hubId, hubDomain, scopes }
  }
}

/** Another grant of the account counts, or it is not known which does. */
async function superseded(
  deps: ConnectDeps,
  { is, failure }: Unproved,
  account: { hubId: number; hubDomain: string; scopes: string[] },
): Promise<ConnectOutcome> {
  if (is === 'unknown') return { is: 'failed', step: 'proof', failure }
  const { hubId } = account
  const facts = { code: 'grant.superseded', hubId, reason: failure.code } as const
  deps.log.warn(facts, `a grant is dropped, the provider has another one for it: ${failure.message}`)
  if (!(await works(deps, hubId))) return { is: 'failed', step: 'token', failure }
  return { is: 'reconnected', ...account }
}

interface Unproved {
  is: 'over' | 'unknown'
  failure: ProviderFailure
}

/**
 * Another grant was stored since this one was given, and either may be the newer one: the provider takes no refresh token of
 * the older one. A refusal counts when it comes twice.
 */
async function proveAlive({ provider, clock }: ConnectDeps, refreshToken: Secret): Promise<Grant | Unproved> {
  let [refusals, sentAt] = [0, 0]
  const result = await askPatiently(
    clock,
    async () => {
      sentAt = clock.now()
      const result = await provider.refresh(refreshToken)
      if (!result.ok && result.failure.class === 'rejected') refusals++
      return result
    },
    (failure) => failure.class === 'transient' || refusals === 1,
  )
  if (result.ok) return grantOf(result.value, result.value.refreshToken ?? refreshToken, sentAt)
  return { is: refusals > 1 ? 'over' : 'unknown', failure: result.failure }
}

async function isKept(deps: ConnectDeps, hubId: number): Promise<boolean> {
  const state = await stateOf(deps, hubId)
  return state !== null && state !== 'uninstalled'
}

function stateOf({ store, keys }: ConnectDeps, hubId: number): Promise<string | null> {
  return store.hget(keys.account(hubId).account, 'state')
}

async function works(deps: ConnectDeps, hubId: number): Promise<boolean> {
  const state = await stateOf(deps, hubId)
  return state === 'active' || state === 'failing' || state === 'parked'
}

function askIdentityPatiently(deps: ConnectDeps, grant: Grant): Promise<ProviderResult<Identity>> {
  return askPatiently(
    deps.clock,
    () => askIdentity(deps, grant),
    (failure) => failure.class === 'transient',
  )
}

/** Tried a few times: a customer at the page need not see a hiccup. */
async function askPatiently<T>(
  clock: Clock,
  ask: () => Promise<ProviderResult<T>>,
  isHiccup: (failure: ProviderFailure) => boolean,
): Promise<ProviderResult<T>> {
  let result = await ask()
  for (const pause of [500, 1_500, 3_000]) {
    if (result.ok || !isHiccup(result.failure)) break
    await clock.wait(Math.min(result.failure.retryAfterMs ?? pause, 5_000))
    result = await ask()
  }
  return result
}

async function openAlerts(deps: ConnectDeps, hubId: number) {
  const { alerts, account } = deps.keys.account(hubId)
  const [[tokenAlert, pollAlert], [refreshedAt, hubDomain, generation]] = await Promise.all([
    deps.store.hmget(alerts, 'token', 'poll'),
    deps.store.hmget(account, 'refreshedAt', 'hubDomain', 'generation'),
  ])
  return {
    ...{ tokenAlert: tokenAlert ?? '', pollAlert: pollAlert ?? '' },
    ...{ refreshedAt: Number(refreshedAt ?? 0), hubDomain: hubDomain ?? '', generation: generation ?? '' },
  }
}
