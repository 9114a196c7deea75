import type { TokenAnswer, TokenOwner } from '../provider/answers.ts'
import type { ProviderClient } from '../provider/client.ts'
import { opensLimits } from '../provider/dialects.ts'
import type { ProviderFailure, ProviderResult } from '../provider/failure.ts'
import { isRedisAway } from '../redis/away.ts'
import { type AlertWrites, bothWrites, stepJson, untilWritten } from '../redis/steps.ts'
import type { Secret } from '../runtime/secret.ts'
import type { TokenEndpoint } from '../tokens/endpoint/token-endpoint.ts'
import { digestOf, forgetLatest, keepLatest, latestOf } from '../tokens/given-tokens.ts'
import {
  type Grant,
  grantToStore,
  keepGrant,
  newGrantId,
  OTHER_WORKER,
  type ParkDeps,
  takeIntent,
} from '../tokens/parked-grants.ts'
import { planRefresh, type RefreshSettings } from '../tokens/plan-refresh.ts'
import type { TokenAnnouncer } from '../tokens/refresh-account.ts'
import { keepUnread } from '../tokens/sealed-tokens.ts'
import { askIdentity, type Identity } from './identity.ts'

/** The alerts about the scopes that an account granted. */
export type ScopesAnnouncer = (account: GrantedAccount) => AlertWrites

export interface GrantedAccount {
  hubId: number
  hubDomain: string
  scopes: readonly string[]
  /** True where polls will be answered with these scopes. */
  opensLimits: boolean
  /** State of the account's poll alert as stored, '' = none. */
  pollAlert: string
  now: number
}

export interface ConnectDeps extends ParkDeps {
  provider: ProviderClient
  announce: TokenAnnouncer
  announceScopes: ScopesAnnouncer
  settings: RefreshSettings
  dataDir: string
}

export interface CodeDeps extends ConnectDeps {
  /** The door to the provider's token endpoint. */
  endpoint: Pick<TokenEndpoint, 'sendCode'>
}

export type ConnectOutcome =
  | { is: 'connected' | 'reconnected'; hubId: number; hubDomain: string; scopes: string[] }
  | { is: 'failed'; step: 'token' | 'metadata'; failure: ProviderFailure }

/** `busy`: this very token is at work. */
export type ConnectedByToken = ConnectOutcome | { is: 'busy' }

export type GrantOutcome =
  | ConnectOutcome
  /**
   * The grant was asked for by a link for account `wanted`: it is stored only if it reconnects an account that was kept
   * already.
   */
  | { is: 'other-account'; hubId: number; hubDomain: string; wanted: number; isReconnected: boolean }
  /** The grant is kept; whose it is, is asked again by and by. */
  | { is: 'parked'; failure: ProviderFailure }

export type CodeOutcome =
  | GrantOutcome
  /** The code is as good as before: the provider takes none until then, ms. */
  | { is: 'waits'; until: number }
  /** The code is spent, and Redis takes nothing: the grant is pending, or parked, and the install is finished once it does. */
  | { is: 'unstored' }

/**
 * Exchanges the code of a finished install (interface 4.1) and stores the account, or else the grant, whose id is `id`. `only`: no
 * other account. `from`: the address that brings the code.
 */
export async function connectWithCode(
  deps: CodeDeps,
  code: Secret,
  { id = newGrantId(), only, from = '' }: { id?: string; only?: number | undefined; from?: string | undefined } = {},
): Promise<CodeOutcome> {
  // Before the code is spent: wherever its tokens wait, and however long, an uninstall that is asked for later wins.
  const version = await takeIntent(deps)
  const sent = await deps.endpoint.sendCode(async () => {
    const sentAt = deps.clock.now()
    return { sentAt, answer: await deps.provider.exchangeCode(code) }
  }, from)
  if (sent.is === 'closed') return { is: 'waits', until: sent.until }
  const { sentAt, answer } = sent
  if (!answer.ok) {
    keepUnreadGrant(deps, answer.failure, { id, only, version })
    return { is: 'failed', step: 'token', failure: answer.failure }
  }
  const { refreshToken, owner } = answer.value
  if (refreshToken === undefined) {
    const message = 'refresh_token is missing in the answer: without it the account cannot be kept'
    return { is: 'failed', step: 'token', failure: { class: 'client', code: 'unreadable', message, status: 200 } }
  }
  const grant = { id, ...grantOf(answer.value, refreshToken, sentAt), grantedAt: sentAt, only, version }
  return finishInHand(deps, grant, owner)
}

/**
 * The code is spent: from here on the grant must be found even if this process dies, or Redis takes nothing. Without an
 * owner the provider is asked for it.
 */
export function finishInHand(deps: ConnectDeps, given: Grant, owner?: TokenOwner): Promise<CodeOutcome> {
  return deps.pending.hold(given.id, async () => {
    try {
      const grant = await keepGrant(deps, given)
      if (grant === undefined) return { is: 'parked', failure: OTHER_WORKER }
      const asked = owner === undefined ? await askIdentityPatiently(deps, grant) : { ok: true as const, value: owner }
      return asked.ok ? await connectGrant(deps, grant, asked.value) : { is: 'parked', failure: asked.failure }
    } catch (error) {
      if (!isRedisAway(error)) throw error
      return { is: 'unstored' }
    }
  })
}

/** Stores the account of a grant whose code is spent. The grant goes with the same step. */
export async function connectGrant(deps: ConnectDeps, grant: Grant, whose: Whose): Promise<GrantOutcome> {
  const { only } = grant
  const { hubId } = whose
  // The provider may take no older refresh token of an account from now on: the new one of an account kept here must not be lost.
  const onlyKept = only !== undefined && only !== hubId
  const outcome = await storeAccount(deps, grant, whose, onlyKept)
  if (!('scopes' in outcome)) return dropped(deps, outcome, grant)
  // A Redis that takes over may know neither the account nor the grant.
  deps.pending.stored(grantToStore(grant, hubId))
  if (!onlyKept) return outcome
  return { is: 'other-account', hubId, hubDomain: outcome.hubDomain, wanted: only, isReconnected: true }
}

/**
 * The grant of an account that is not kept is not deleted at the provider, where the account may have one refresh token for all
 * its grants.
 */
function dropped({ log }: ConnectDeps, { is, hubId, hubDomain }: NotConnected, { only: wanted }: Grant): GrantOutcome {
  if (wanted === undefined || wanted === hubId) return { is: 'failed', step: 'token', failure: UNINSTALLED }
  const why = is === 'strange' ? 'its link was for another account' : 'its account is being uninstalled, and it with it'
  log.warn({ code: 'grant.other-account', hubId, wanted }, `a grant is dropped: ${why}`)
  return { is: 'other-account', hubId, hubDomain, wanted, isReconnected: false }
}

/** Asked for after the grant. */
const UNINSTALLED: ProviderFailure = {
  class: 'rejected',
  code: 'uninstalled',
  message: 'the account was uninstalled meanwhile',
  status: 0,
}

/** `strange`: it is not kept here. `uninstalled`: its uninstall deletes the refresh token, too. */
interface NotConnected {
  is: 'strange' | 'uninstalled'
  hubId: number
  hubDomain: string
}

/**
 * Takes over an account that was installed before: its refresh token is redeemed at once, which proves it. If that brings
 * another one, that is sealed before anything else can fail, and used in place of the one that was given from then on: the
 * latter may be worth nothing now. Throws VaultError where no key opens the sealed one.
 */
export async function connectWithRefreshToken(deps: ConnectDeps, given: Secret): Promise<ConnectedByToken> {
  const holder = digestOf(given)
  if (deps.pending.has(holder)) return { is: 'busy' }
  return deps.pending.hold(holder, async () => {
    const outcome = await redeemGiven(deps, given)
    if (outcome.is !== 'failed') forgetLatest(deps.dataDir, given)
    return outcome
  })
}

async function redeemGiven(deps: ConnectDeps, given: Secret): Promise<ConnectOutcome> {
  const version = await takeIntent(deps)
  const refreshToken = latestOf(deps.vault, deps.dataDir, given)
  const sentAt = deps.clock.now()
  const answer = await deps.provider.refresh(refreshToken)
  if (!answer.ok) {
    keepUnreadGrant(deps, answer.failure, { id: newGrantId(), only: undefined, version })
    return { is: 'failed', step: 'token', failure: answer.failure }
  }
  const latest = answer.value.refreshToken ?? refreshToken
  const tokens = grantOf(answer.value, latest, sentAt)
  const grant = { id: newGrantId(), ...tokens, grantedAt: sentAt, only: undefined, version }
  try {
    keepLatest(deps, deps.dataDir, given, latest)
  } catch (error) {
    await deps.pending.park(grantToStore(grant), deps.clock.now()).catch(() => undefined)
    throw error
  }
  const asked = await askIdentityPatiently(deps, grant)
  if (!asked.ok) return { is: 'failed', step: 'metadata', failure: asked.failure }
  const outcome = await storeAccount(deps, grant, asked.value, false)
  if (!('scopes' in outcome)) return { is: 'failed', step: 'token', failure: UNINSTALLED }
  // The file of the latest one goes, and a Redis that takes over may not know the account.
  deps.pending.stored(grantToStore(grant, outcome.hubId))
  return outcome
}

/** An answer with tokens that could not be read is sealed: a version that can read it goes on with the install. */
export function keepUnreadGrant(
  deps: Pick<ConnectDeps, 'vault' | 'log' | 'dataDir'>,
  { unread, message: reason }: ProviderFailure,
  { id, only, version }: Pick<Grant, 'id' | 'only' | 'version'>,
): void {
  if (unread === undefined) return
  const kept = keepUnread(deps, deps.dataDir, { ...unread, holder: id, only, version: String(version) })
  deps.log.error({ code: 'install.unreadable', reason }, `the provider's answer with tokens could not be read; ${kept}`)
}

type GrantTokens = Pick<Grant, 'accessToken' | 'refreshToken' | 'previous' | 'times'>

/** An answer's life counts from when the request was sent. */
export function grantOf(
  { accessToken, lifetimeMs }: TokenAnswer,
  refreshToken: Secret,
  sentAt: number,
): Pick<GrantTokens, 'accessToken' | 'refreshToken' | 'times'> {
  return { accessToken, refreshToken, times: { obtainedAt: sentAt, expiresAt: sentAt + lifetimeMs } }
}

/** Some answers name the owner alone: the first poll asks for the rest, and until then it is as it is known. */
type Whose = Identity | TokenOwner

function fieldsOf(whose: Whose): Record<string, string> {
  if (!('driftMs' in whose)) return { metadataDue: '1', tokenDriftMs: '' }
  const { hubDomain = '', hublet = '', user = '', driftMs } = whose
  return { hubDomain, hublet, user, tokenDriftMs: String(driftMs ?? '') }
}

type NewTokens = GrantTokens & { id: string; version: number }

/** `onlyKept`: no account that is not kept here. */
async function storeAccount(
  deps: ConnectDeps,
  { id, version, previous, ...grant }: NewTokens,
  whose: Whose,
  onlyKept: boolean,
): Promise<Extract<ConnectOutcome, { scopes: string[] }> | NotConnected> {
  const { hubId, scopes } = whose
  const fields = fieldsOf(whose)
  const { accessToken, refreshToken, times } = { ...grant, ...whose }
  return untilWritten(`account ${hubId}`, async () => {
    const { pollAlert, hubDomain: known, ...before } = await openAlerts(deps, hubId)
    const hubDomain = fields.hubDomain ?? known
    const account = { hubId, hubDomain, now: deps.clock.now() }
    const alerts = bothWrites(
      deps.announce.recovered({ ...account, ...before }),
      deps.announceScopes({ ...account, scopes, opensLimits: opensLimits(scopes), pollAlert }),
    )
    const is = await deps.store.connectAccount(
      deps.keys.own(hubId),
      hubId,
      deps.clock.now(),
      deps.vault.seal(accessToken, hubId, 'access'),
      deps.vault.seal(refreshToken, hubId, 'refresh'),
      scopes.join(' '),
      times.obtainedAt,
      times.expiresAt,
      planRefresh(hubId, times, deps.settings).dueAt,
      stepJson(fields),
      stepJson(alerts),
      version,
      id,
      previous === undefined ? '' : deps.vault.seal(previous, hubId, 'refresh'),
      onlyKept ? 'kept' : '',
    )
    if (is === 'stale') return 'stale'
    if (is === 'strange' || is === 'uninstalled') return { is, hubId, hubDomain }
    if (is === 'known') return { is: 'reconnected', hubId, hubDomain, scopes }
    await deps.store.set(deps.keys.delivery.lastConnectAt, deps.clock.now())
    deps.log.info({ code: 'account.connected', hubId, hubDomain, again: is === 'reconnected' }, 'account connected')
    return { is, hubId, hubDomain, scopes }
  })
}

/** True where its tokens are kept alive, or soon will be. */
export async function works({ store, keys }: ConnectDeps, hubId: number): Promise<boolean> {
  const state = await store.hget(keys.account(hubId).account, 'state')
  return state === 'active' || state === 'failing' || state === 'parked'
}

/** Tried a few times: a customer at the page need not see a hiccup. */
async function askIdentityPatiently(deps: ConnectDeps, grant: GrantTokens): Promise<ProviderResult<Identity>> {
  let result = await askIdentity(deps, grant)
  for (const pause of [500, 1_500, 3_000]) {
    if (result.ok || result.failure.class !== 'transient') break
    await deps.clock.wait(Math.min(result.failure.retryAfterMs ?? pause, 5_000))
    result = await askIdentity(deps, grant)
  }
  return result
}

async function openAlerts(deps: ConnectDeps, hubId: number) {
  const { alerts, account } = deps.keys.account(hubId)
  const [[tokenAlert, pollAlert], [refreshedAt, hubDomain]] = await Promise.all([
    deps.store.hmget(alerts, 'token', 'poll'),
    deps.store.hmget(account, 'refreshedAt', 'hubDomain'),
  ])
  return {
    tokenAlert: tokenAlert ?? '',
    pollAlert: pollAlert ?? '',
    refreshedAt: Number(refreshedAt ?? 0),
    hubDomain: hubDomain ?? '',
  }
}
