import type { TokenAnswer } from '../provider/answers.ts'
import type { ProviderClient } from '../provider/client.ts'
import type { ProviderFailure } from '../provider/failure.ts'
import { opensLimits } from '../provider/scopes.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { accountStepKeys, bothWrites, stepJson } from '../redis/steps.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Secret } from '../runtime/secret.ts'
import { planRefresh, type RefreshSettings } from '../tokens/plan-refresh.ts'
import type { TokenAnnouncer } from '../tokens/refresh-account.ts'
import { tokenDrift } from '../tokens/token-drift.ts'
import type { Vault } from '../tokens/vault.ts'
import { askMetadata, type ScopesAnnouncer } from './metadata.ts'

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

export type ConnectOutcome =
  | { is: 'connected' | 'reconnected'; hubId: number; hubDomain: string; scopes: string[] }
  | { is: 'failed'; step: 'token' | 'metadata'; failure: ProviderFailure }

/** Exchanges the code of a finished install (interface 4.1) and stores the account. */
export async function connectWithCode(deps: ConnectDeps, code: Secret): Promise<ConnectOutcome> {
  const sentAt = deps.clock.now()
  const answer = await deps.provider.exchangeCode(code)
  if (!answer.ok) return { is: 'failed', step: 'token', failure: answer.failure }
  if (answer.value.refreshToken === undefined) return withoutRefreshToken()
  return storeAccount(deps, answer.value, answer.value.refreshToken, sentAt)
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
  return storeAccount(deps, answer.value, latest, sentAt)
}

async function storeAccount(
  deps: ConnectDeps,
  answer: TokenAnswer,
  refreshToken: Secret,
  sentAt: number,
): Promise<ConnectOutcome> {
  const { result, ...asked } = await readMetadata(deps, answer.accessToken)
  if (!result.ok) return { is: 'failed', step: 'metadata', failure: result.failure }
  const { hubId, hubDomain = '', scopes, user, lifeLeftMs } = result.value
  const counted = { obtainedAt: sentAt, expiresAt: sentAt + answer.lifetimeMs }
  const { times, driftMs } = tokenDrift(counted, { ...asked, lifeLeftMs })
  const fields = { hubDomain, user: user ?? '', tokenDriftMs: String(driftMs ?? '') }
  for (;;) {
    const { pollAlert, ...before } = await openAlerts(deps, hubId)
    const account = { hubId, hubDomain, now: deps.clock.now() }
    const alerts = bothWrites(
      deps.announce.recovered({ ...account, ...before }),
      deps.announceScopes({ ...account, scopes, opensLimits: opensLimits(scopes), pollAlert }),
    )
    const is = await deps.store.connectAccount(
      ...accountStepKeys(deps.keys, hubId),
      deps.keys.partition(deps.keys.partitionOf(hubId)).forgotten,
      ...[hubId, deps.clock.now()],
      deps.vault.seal(answer.accessToken, hubId, 'access'),
      deps.vault.seal(refreshToken, hubId, 'refresh'),
      ...[scopes.join(' '), times.obtainedAt, times.expiresAt, planRefresh(hubId, times, deps.settings).dueAt],
      stepJson(fields),
      stepJson(alerts),
    )
    if (is === 'stale') continue
    await deps.store.set(deps.keys.delivery.connectedAt, deps.clock.now())
    deps.log.info({ code: 'account.connected', hubId, hubDomain, again: is === 'reconnected' }, 'account connected')
    return { is, hubId, hubDomain, scopes }
  }
}

/**
 * Tried a few times, because the code is spent and nobody would ask for it again: a hiccup here must not throw away a
 * grant that a customer has just given.
 */
async function readMetadata(deps: ConnectDeps, accessToken: Secret) {
  let asked = await askMetadata(deps, accessToken)
  for (const pause of [500, 1_500, 3_000]) {
    if (asked.result.ok || asked.result.failure.class !== 'transient') break
    await deps.clock.wait(Math.min(asked.result.failure.retryAfterMs ?? pause, 5_000))
    asked = await askMetadata(deps, accessToken)
  }
  return asked
}

async function openAlerts(deps: ConnectDeps, hubId: number) {
  const { alerts, account } = deps.keys.account(hubId)
  const [[tokenAlert, pollAlert], refreshedAt] = await Promise.all([
    deps.store.hmget(alerts, 'token', 'poll'),
    deps.store.hget(account, 'refreshedAt'),
  ])
  return { tokenAlert: tokenAlert ?? '', pollAlert: pollAlert ?? '', refreshedAt: Number(refreshedAt ?? 0) }
}

function withoutRefreshToken(): ConnectOutcome {
  const message = 'refresh_token is missing in the answer: without it the account cannot be kept'
  return { is: 'failed', step: 'token', failure: { class: 'client', code: 'unreadable', message, status: 200 } }
}
