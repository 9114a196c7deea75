import type { TokenOwner } from '../provider/answers.ts'
import type { ProviderClient } from '../provider/client.ts'
import { opensLimits } from '../provider/dialects.ts'
import type { ProviderFailure, ProviderResult } from '../provider/failure.ts'
import { isRedisAway } from '../redis/away.ts'
import { type AlertWrites, bothWrites, stepJson, untilWritten } from '../redis/steps.ts'
import type { Secret } from '../runtime/secret.ts'
import type { TokenEndpoint } from '../tokens/endpoint/token-endpoint.ts'
import { digestOf, forgetLatest, keepLatest, latestOf } from '../tokens/given-tokens.ts'
import { keepGrant, newGrantId, OTHER_WORKER, type ParkDeps, takeIntent, tokensOf } from '../tokens/parked-grants.ts'
import { planRefresh, type RefreshSettings } from '../tokens/plan-refresh.ts'
import type { TokenAnnouncer } from '../tokens/refresh-account.ts'
import { keepUnread } from '../tokens/sealed-tokens.ts'
import type { Grant } from '../tokens/token-store.ts'
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

export type CodeOutcome =
  | GrantOutcome
  /** The grant is kept; whose it is, is asked again by and by. */
  | { is: 'parked'; failure: ProviderFailure }
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
  const install = { id, only, version: await takeIntent(deps) }
  const sent = await deps.endpoint.sendCode(async () => {
    const sentAt = deps.clock.now()
    return { sentAt, answer: await deps.provider.exchangeCode(code) }
  }, from)
  if (sent.is === 'closed') return { is: 'waits', until: sent.until }
  const { sentAt, answer } = sent
  if (!answer.ok) {
    keepUnreadGrant(deps, answer.failure, install)
    return { is: 'failed', step: 'token', failure: answer.failure }
  }
  const { refreshToken, owner } = answer.value
  if (refreshToken === undefined) return { is: 'failed', step: 'token', failure: NO_REFRESH_TOKEN }
  return finishInHand(deps, { ...install, grantedAt: sentAt, ...tokensOf(answer.value, refreshToken, sentAt) }, owner)
}

const NO_REFRESH_TOKEN: ProviderFailure = {
  class: 'client',
  code: 'unreadable',
  message: 'refresh_token is missing in the answer: without it the account cannot be kept',
  status: 200,
}

/**
 * The code is spent: from here on the grant must be found even if this process dies, or Redis takes nothing. Without an
 * owner the provider is asked for it.
 */
export function finishInHand(deps: ConnectDeps, grant: Grant, owner?: TokenOwner): Promise<CodeOutcome> {
  return deps.pending.hold(grant.id, async () => {
    try {
      if (!(await keepGrant(deps, grant))) return { is: 'parked', failure: OTHER_WORKER }
      const asked = owner === undefined ? await askIdentityPatiently(deps, grant) : { ok: true as const, value: owner }
      return asked.ok ? await connectGrant(deps, grant, asked.value) : { is: 'parked', failure: asked.failure }
    } catch (error) {
      if (!isRedisAway(error)) throw error
      return { is: 'unstored' }
    }
  })
}

/**
 * Stores the account of a grant whose code is spent. The grant goes with the same step. That of an account that is not kept is not
 * deleted at the provider, where the account may have one refresh token for all its grants. `previous`: the refresh token before,
 * which may be alive.
 */
export async function connectGrant(
  deps: ConnectDeps,
  grant: Grant,
  whose: Whose,
  previous?: Secret,
): Promise<GrantOutcome> {
  const { only: wanted } = grant
  const { hubId } = whose
  // The provider may take no older refresh token of an account from now on: the new one of an account kept here must not be lost.
  const isOther = wanted !== undefined && wanted !== hubId
  const stored = await storeAccount(deps, grant, whose, previous, isOther)
  if (!isOther) return outcomeOf(stored)
  const isReconnected = stored.is === 'connected' || stored.is === 'reconnected'
  const why =
    stored.is === 'strange' ? 'its link was for another account' : 'its account is being uninstalled, and it with it'
  if (!isReconnected) deps.log.warn({ code: 'grant.other-account', hubId, wanted }, `a grant is dropped: ${why}`)
  return { is: 'other-account', hubId, hubDomain: stored.hubDomain, wanted, isReconnected }
}

function outcomeOf({ is, ...account }: StoredAccount): ConnectOutcome {
  return is === 'connected' || is === 'reconnected'
    ? { is, ...account }
    : { is: 'failed', step: 'token', failure: UNINSTALLED }
}

/** Asked for after the grant. */
const UNINSTALLED: ProviderFailure = {
  class: 'rejected',
  code: 'uninstalled',
  message: 'the account was uninstalled meanwhile',
  status: 0,
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
  const install = { id: newGrantId(), only: undefined, version: await takeIntent(deps) }
  const refreshToken = latestOf(deps.vault, deps.dataDir, given)
  const sentAt = deps.clock.now()
  const answer = await deps.provider.refresh(refreshToken)
  if (!answer.ok) {
    keepUnreadGrant(deps, answer.failure, install)
    return { is: 'failed', step: 'token', failure: answer.failure }
  }
  const latest = answer.value.refreshToken ?? refreshToken
  const grant = { ...install, grantedAt: sentAt, ...tokensOf(answer.value, latest, sentAt) }
  try {
    keepLatest(deps.vault, deps.dataDir, given, latest)
  } catch (error) {
    await deps.pending.park(grant, deps.clock.now()).catch(() => undefined)
    throw error
  }
  const asked = await askIdentityPatiently(deps, grant)
  if (!asked.ok) return { is: 'failed', step: 'metadata', failure: asked.failure }
  return outcomeOf(await storeAccount(deps, grant, asked.value))
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

/** Some answers name the owner alone: the first poll asks for the rest, and until then it is as it is known. */
type Whose = Identity | TokenOwner

interface StoredAccount {
  /** `strange`: it is not kept here. `uninstalled`: its uninstall deletes the refresh token, too. */
  is: 'connected' | 'reconnected' | 'strange' | 'uninstalled'
  hubId: number
  hubDomain: string
  scopes: string[]
}

/** `onlyKept`: no account that is not kept here. */
async function storeAccount(
  deps: ConnectDeps,
  grant: Grant,
  whose: Whose,
  previous?: Secret,
  onlyKept = false,
): Promise<StoredAccount> {
  const { store, keys, vault, clock } = deps
  const { hubId, scopes } = whose
  const { alerts: states, account } = keys.account(hubId)
  const { times } = { ...grant, ...whose }
  const stored = await untilWritten(`account ${hubId}`, async () => {
    const [[tokenAlert, pollAlert], known] = await Promise.all([
      store.hmget(states, 'token', 'poll'),
      store.hget(account, 'hubDomain'),
    ])
    const hubDomain = 'driftMs' in whose ? (whose.hubDomain ?? '') : (known ?? '')
    const subject = { hubId, hubDomain, now: clock.now() }
    const alerts = bothWrites(
      deps.announce.recovered({ ...subject, tokenAlert: tokenAlert ?? '' }),
      deps.announceScopes({ ...subject, scopes, opensLimits: opensLimits(scopes), pollAlert: pollAlert ?? '' }),
    )
    const is = await store.connectAccount(
      keys.own(hubId),
      hubId,
      clock.now(),
      vault.seal(grant.access, hubId, 'access'),
      vault.seal(grant.refresh, hubId, 'refresh'),
      scopes.join(' '),
      times.obtainedAt,
      times.expiresAt,
      planRefresh(hubId, times, deps.settings).dueAt,
      stepJson(fieldsOf(whose)),
      stepJson(alerts),
      grant.version,
      grant.id,
      previous === undefined ? '' : vault.seal(previous, hubId, 'refresh'),
      onlyKept ? 'kept' : '',
    )
    return is === 'stale' ? is : { is, hubDomain }
  })
  const { is, hubDomain } = stored
  if (is === 'connected' || is === 'reconnected') {
    await store.hset(keys.fleet, 'connectedAt', clock.now())
    deps.log.info({ code: 'account.connected', hubId, hubDomain, again: is === 'reconnected' }, 'account connected')
  }
  // A Redis that takes over may know neither the account nor the grant.
  if (is !== 'strange' && is !== 'uninstalled') deps.pending.stored({ ...grant, account: hubId })
  return { is: is === 'known' ? 'reconnected' : is, hubId, hubDomain, scopes }
}

function fieldsOf(whose: Whose): Record<string, string> {
  if (!('driftMs' in whose)) return { metadataDue: '1', tokenDriftMs: '' }
  const { hubDomain = '', hublet = '', user = '', driftMs } = whose
  return { hubDomain, hublet, user, tokenDriftMs: String(driftMs ?? '') }
}

/** Tried a few times: a customer at the page need not see a hiccup. */
async function askIdentityPatiently(deps: ConnectDeps, grant: Grant): Promise<ProviderResult<Identity>> {
  let result = await askIdentity(deps, grant)
  for (const pause of [500, 1_500, 3_000]) {
    if (result.ok || result.failure.class !== 'transient') break
    await deps.clock.wait(Math.min(result.failure.retryAfterMs ?? pause, 5_000))
    result = await askIdentity(deps, grant)
  }
  return result
}
