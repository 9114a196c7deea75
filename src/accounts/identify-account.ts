import { opensLimits } from '../provider/dialects.ts'
import { stepJson } from '../redis/steps.ts'
import type { InFlight } from '../runtime/concurrency.ts'
import { defined } from '../runtime/defined.ts'
import type { TokenEndpoint } from '../tokens/endpoint/token-endpoint.ts'
import { planRefresh } from '../tokens/plan-refresh.ts'
import { readAccess } from '../tokens/stored-access.ts'
import { openToken } from '../tokens/vault.ts'
import type { ConnectDeps } from './connect-account.ts'
import { askIdentity } from './identity.ts'

export interface IdentifyDeps extends ConnectDeps {
  endpoint: TokenEndpoint
  inFlight: InFlight
}

export type Identified =
  | { is: 'stored'; alerted: boolean }
  /** Another answer was stored meanwhile. */
  | { is: 'known' }
  /** Not now: the token endpoint is closed, the provider did not answer, or no key opens the token. The mark stays. */
  | { is: 'later' }
  /** Tokens were stored meanwhile: what was read may not be true of them. */
  | { is: 'lost' }
  /** The token belongs to another account: this one is not to be polled. */
  | { is: 'foreign' }

/**
 * Asks for the metadata of an account that came without, or has no domain: whose token it is, its domain, user, scopes, the token's life.
 * The call counts as one to the token endpoint: each account of a fleet that was just imported asks once, beside its
 * first refresh, and no other limit of their pace is known. `batch` is the place in line there. Undefined: there is
 * nothing to be asked.
 */
export async function identifyAccount(
  deps: IdentifyDeps,
  hubId: number,
  batch?: number,
): Promise<Identified | undefined> {
  const account = await unidentified(deps, hubId)
  if (account === undefined) return undefined
  const opened = openToken(deps.vault, account.sealed, hubId, 'access')
  if (!opened.ok) return { is: 'later' }
  if ((await deps.endpoint.enter(batch)).is === 'closed') return { is: 'later' }
  const token = { accessToken: opened.value, times: account.times }
  const result = await deps.inFlight.run('normal', () => askIdentity(deps, token))
  if (!result.ok) {
    const { code, message, status } = result.failure
    deps.log.warn({ code: 'metadata.failed', hubId, reason: code }, `${message}: asked again before long`)
    if (status === 429) await deps.endpoint.failed(hubId, result.failure, true)
    return { is: 'later' }
  }
  if (result.value.hubId !== hubId) return refuse(deps, hubId, account, result.value.hubId)

  const now = deps.clock.now()
  const { scopes, user, hublet, times, driftMs, hubDomain = account.hubDomain } = result.value
  const alerts = deps.announceScopes({
    hubId,
    hubDomain,
    scopes,
    opensLimits: opensLimits(scopes),
    now,
    pollAlert: account.alertStates.poll ?? '',
  })
  const is = await deps.store.storeMetadata(
    deps.keys.own(hubId),
    hubId,
    now,
    account.version,
    scopes.join(' '),
    stepJson({ hubDomain, ...defined({ user, hublet }), tokenDriftMs: String(driftMs ?? '') }),
    times.expiresAt,
    planRefresh(hubId, times, deps.settings).dueAt,
    stepJson(alerts),
  )
  return is === 'stored' ? { is, alerted: alerts.entries.length > 0 } : { is }
}

async function unidentified(deps: IdentifyDeps, hubId: number) {
  const { account, alerts } = deps.keys.account(hubId)
  const [[metadataDue, hubDomain], access, alertStates] = await Promise.all([
    deps.store.hmget(account, 'metadataDue', 'hubDomain'),
    readAccess(deps.store, deps.keys, hubId),
    deps.store.hgetall(alerts),
  ])
  return access !== undefined && (metadataDue === '1' || !hubDomain?.trim()) ? { ...access, alertStates } : undefined
}

type Unidentified = NonNullable<Awaited<ReturnType<typeof unidentified>>>

async function refuse(
  deps: IdentifyDeps,
  hubId: number,
  { version, hubDomain, alertStates }: Unidentified,
  owner: number,
): Promise<Identified> {
  const now = deps.clock.now()
  const reason = `its refresh token belongs to account ${owner}`
  const fields = { failures: '1', failureClass: 'foreign', failureReason: reason, failureAt: String(now) }
  const announced = { hubId, hubDomain, tokenAlert: alertStates.token ?? '', now }
  const refused = await deps.store.refuseForeignToken(
    deps.keys.own(hubId),
    hubId,
    version,
    owner,
    stepJson({ ...fields, rejectedAt: '', retryAt: '', parkedUntil: '' }),
    stepJson(deps.announce.foreign(announced, owner)),
  )
  if (refused === 'lost') return { is: 'lost' }
  deps.log.error({ code: 'token.foreign', hubId, owner }, `account ${hubId}: ${reason}; it is no longer polled`)
  return { is: 'foreign' }
}
