import type { TokenAnswer, TokenMetadata, TokenOwner } from '../provider/answers.ts'
import type { ProviderClient } from '../provider/client.ts'
import type { ProviderFailure, ProviderResult } from '../provider/failure.ts'
import { opensLimits } from '../provider/scopes.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { accountStepKeys, bothWrites, newOperation, stepJson } from '../redis/steps.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Secret } from '../runtime/secret.ts'
import type { TokenEndpoint } from '../tokens/endpoint/token-endpoint.ts'
import { CLOCK_SLACK_MS, planRefresh, type RefreshSettings, type TokenTimes } from '../tokens/plan-refresh.ts'
import type { TokenAnnouncer } from '../tokens/refresh-account.ts'
import { tokenDrift } from '../tokens/token-drift.ts'
import type { Vault } from '../tokens/vault.ts'
import { type AskedMetadata, askMetadata, type ScopesAnnouncer } from './metadata.ts'
import { CROSSING, forgetGrant, type Grant, noteOfGrant, parkGrant, planGrant, replaceGrant } from './parked-grants.ts'

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
  /** `proof`: another grant of the account was stored meanwhile, and the provider does not say which of them counts. */
  | { is: 'failed'; step: 'token' | 'metadata' | 'proof'; failure: ProviderFailure }

/** The code is as good as before: the provider takes none until then, ms. */
export interface Waits {
  is: 'waits'
  until: number
}

/** The grant is kept; whose it is, and whether it counts, is asked again by and by. */
export interface Parked {
  is: 'parked'
  failure: ProviderFailure
}

/** Exchanges the code of a finished install (interface 4.1) and stores the account, or else the grant. */
export async function connectWithCode(deps: CodeDeps, code: Secret): Promise<ConnectOutcome | Waits | Parked> {
  const sent = await deps.endpoint.sendCode(async () => {
    const sentAt = deps.clock.now()
    return { sentAt, answer: await deps.provider.exchangeCode(code) }
  })
  if (sent.is === 'closed') return { is: 'waits', until: sent.until }
  const { sentAt, answer } = sent
  if (!answer.ok) return { is: 'failed', step: 'token', failure: answer.failure }
  const { refreshToken, owner } = answer.value
  if (refreshToken === undefined) return withoutRefreshToken()
  const grant = grantOf(answer.value, refreshToken, sentAt)
  if (owner !== undefined) return connectGrant(deps, grant, ownerAlone(grant, owner))
  // The code is spent: from here on the grant must be found by somebody, whatever becomes of this process.
  const id = await parkGrant(deps, grant, deps.clock.now())
  const asked = await readMetadata(deps, grant.accessToken)
  if (asked.result.ok) {
    return connectGrant(deps, { id, ...grant }, identity(grant, { ...asked, metadata: asked.result.value }))
  }
  await planGrant(deps, id, deps.clock.now())
  return { is: 'parked', failure: asked.result.failure }
}

/** Stores the account of a grant whose code is spent. One of which nobody can say whether it counts is parked, or stays so. */
export async function connectGrant(
  deps: ConnectDeps,
  grant: Grant & { id?: string },
  whose: Identity,
): Promise<ConnectOutcome | Parked> {
  const { clock } = deps
  let { id } = grant
  if (id !== undefined) await noteOfGrant(deps, id, { hubId: whose.hubId })
  const keep = async (latest: Grant) => {
    if (id === undefined) id = await parkGrant(deps, latest, clock.now())
    else await replaceGrant(deps, id, latest, clock.now())
  }
  const outcome = await storeAccount(deps, grant, whose, keep)
  if (id === undefined) return outcome
  if (outcome.is !== 'failed' || outcome.step !== 'proof') {
    await forgetGrant(deps, id)
    return outcome
  }
  await noteOfGrant(deps, id, { hubId: CROSSING })
  await planGrant(deps, id, clock.now())
  return { is: 'parked', failure: outcome.failure }
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
  const asked = await readMetadata(deps, grant.accessToken)
  if (!asked.result.ok) return { is: 'failed', step: 'metadata', failure: asked.result.failure }
  const whose = identity(grant, { ...asked, metadata: asked.result.value })
  return storeAccount(deps, grant, whose, async ({ refreshToken }) => {
    if (refreshToken.reveal() !== latest.reveal()) keepNew(refreshToken)
  })
}

/** An answer's life counts from when the request was sent. */
export function grantOf({ accessToken, lifetimeMs }: TokenAnswer, refreshToken: Secret, sentAt: number): Grant {
  return { accessToken, refreshToken, times: { obtainedAt: sentAt, expiresAt: sentAt + lifetimeMs } }
}

/** What the provider says of a token, and when it was asked. */
export interface Told extends Pick<AskedMetadata, 'askedAt' | 'answeredAt'> {
  metadata: TokenMetadata
}

export interface Identity {
  hubId: number
  /** Undefined: as it is known. */
  hubDomain: string | undefined
  scopes: string[]
  times: TokenTimes
  fields: Record<string, string>
}

export function identity(grant: Grant, { metadata, ...asked }: Told): Identity {
  const { hubId, hubDomain = '', scopes, user = '', lifeLeftMs } = metadata
  const { times, driftMs } = tokenDrift(grant.times, { ...asked, lifeLeftMs })
  return { hubId, hubDomain, scopes, times, fields: { hubDomain, user, tokenDriftMs: String(driftMs ?? '') } }
}

/** The first poll asks for the rest. */
function ownerAlone({ times }: Grant, { hubId, scopes }: TokenOwner): Identity {
  return { hubId, hubDomain: undefined, scopes, times, fields: { metadataDue: '1', tokenDriftMs: '' } }
}

async function storeAccount(
  deps: ConnectDeps,
  grant: Grant,
  { hubId, scopes, fields, ...told }: Identity,
  /** Gets what is to be proved, and what came of that, before anything else can fail. */
  keep: (latest: Grant) => Promise<void>,
): Promise<ConnectOutcome> {
  const operation = newOperation()
  let { accessToken, refreshToken, times } = { ...grant, times: told.times }
  let [provedAfter, previous] = ['', '' as Buffer | '']
  for (;;) {
    const { pollAlert, hubDomain: known, generation, ...before } = await openAlerts(deps, hubId)
    const hubDomain = told.hubDomain ?? known
    const account = { hubId, hubDomain, now: deps.clock.now() }
    const alerts = bothWrites(
      deps.announce.recovered({ ...account, ...before }),
      deps.announceScopes({ ...account, scopes, opensLimits: opensLimits(scopes), pollAlert }),
    )
    const is = await deps.store.connectAccount(
      ...accountStepKeys(deps.keys, hubId),
      deps.keys.partition(deps.keys.partitionOf(hubId)).forgotten,
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
      if ('is' in proof) {
        if (proof.is === 'unknown') return { is: 'failed', step: 'proof', failure: proof.failure }
        const { failure } = proof
        const facts = { code: 'grant.superseded', hubId, reason: failure.code } as const
        deps.log.warn(facts, `a grant is dropped, the provider has another one for it: ${failure.message}`)
        if (!(await works(deps, hubId))) return { is: 'failed', step: 'token', failure }
        return { is: 'reconnected', hubId, hubDomain, scopes }
      }
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

/**
 * Another grant was stored since this one was given, and either may be the newer one: the provider takes no refresh token of
 * the older one. That it refuses one counts when it says so twice.
 */
async function proveAlive(
  { provider, clock }: ConnectDeps,
  refreshToken: Secret,
): Promise<Grant | { is: 'over' | 'unknown'; failure: ProviderFailure }> {
  let refusals = 0
  const { sentAt, result } = await askPatiently(
    clock,
    async () => {
      const sentAt = clock.now()
      const result = await provider.refresh(refreshToken)
      if (!result.ok && result.failure.class === 'rejected') refusals++
      return { sentAt, result }
    },
    (failure) => failure.class === 'transient' || refusals === 1,
  )
  if (result.ok) return grantOf(result.value, result.value.refreshToken ?? refreshToken, sentAt)
  return { is: refusals > 1 ? 'over' : 'unknown', failure: result.failure }
}

async function works({ store, keys }: ConnectDeps, hubId: number): Promise<boolean> {
  const state = await store.hget(keys.account(hubId).account, 'state')
  return state === 'active' || state === 'failing' || state === 'parked'
}

function readMetadata(deps: ConnectDeps, accessToken: Secret): Promise<AskedMetadata> {
  return askPatiently(
    deps.clock,
    () => askMetadata(deps, accessToken),
    (failure) => failure.class === 'transient',
  )
}

/** Tried a few times: a hiccup is nothing that somebody in front of a page need hear of. */
async function askPatiently<A extends { result: ProviderResult<unknown> }>(
  clock: Clock,
  ask: () => Promise<A>,
  isHiccup: (failure: ProviderFailure) => boolean,
): Promise<A> {
  let asked = await ask()
  for (const pause of [500, 1_500, 3_000]) {
    if (asked.result.ok || !isHiccup(asked.result.failure)) break
    await clock.wait(Math.min(asked.result.failure.retryAfterMs ?? pause, 5_000))
    asked = await ask()
  }
  return asked
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

function withoutRefreshToken(): ConnectOutcome {
  const message = 'refresh_token is missing in the answer: without it the account cannot be kept'
  return { is: 'failed', step: 'token', failure: { class: 'client', code: 'unreadable', message, status: 200 } }
}
