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

export interface Identified {
  /**
   * `known`: another answer was stored meanwhile. `later`: the token endpoint is closed, the provider did not answer, or no key
   * opens the token: the mark stays. `lost`: tokens were stored meanwhile, and what was read may not be true of them. `foreign`: the
   * token belongs to another account: this one is not to be polled.
   */
  is: 'stored' | 'known' | 'later' | 'lost' | 'foreign'
  alerted?: boolean
}

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
  const { store, keys, log } = deps
  const { account, alerts } = keys.account(hubId)
  const [[metadataDue, known], access, states] = await Promise.all([
    store.hmget(account, 'metadataDue', 'hubDomain'),
    readAccess(store, keys, hubId),
    store.hmget(alerts, 'token', 'poll'),
  ])
  if (access === undefined || (metadataDue !== '1' && known?.trim())) return undefined
  const opened = openToken(deps.vault, access.sealed, hubId, 'access')
  if (!opened.ok || (await deps.endpoint.enter(batch)).is === 'closed') return { is: 'later' }
  const token = { access: opened.value, times: access.times }
  const result = await deps.inFlight.run('normal', () => askIdentity(deps, token))
  if (!result.ok) {
    const { code, message, status } = result.failure
    log.warn({ code: 'metadata.failed', hubId, reason: code }, `${message}: asked again before long`)
    if (status === 429) await deps.endpoint.failed(hubId, result.failure, true)
    return { is: 'later' }
  }
  const owner = result.value.hubId
  const { scopes, user, hublet, times, driftMs, hubDomain = access.hubDomain } = result.value
  const [tokenAlert = '', pollAlert = ''] = states.map((state) => state ?? '')
  const now = deps.clock.now()
  const foreign = `its refresh token belongs to account ${owner}`
  const { fields, writes } =
    owner === hubId
      ? {
          fields: { hubDomain, ...defined({ user, hublet }), tokenDriftMs: String(driftMs ?? '') },
          writes: deps.announceScopes({ hubId, hubDomain, scopes, opensLimits: opensLimits(scopes), pollAlert, now }),
        }
      : {
          fields: {
            ...NO_TROUBLE,
            failures: '1',
            failureClass: 'foreign',
            failureReason: foreign,
            failureAt: `${now}`,
          },
          writes: deps.announce.foreign({ hubId, hubDomain: access.hubDomain, tokenAlert, now }, owner),
        }
  const is = await store.storeIdentity(
    keys.own(hubId),
    hubId,
    now,
    access.version,
    owner,
    scopes.join(' '),
    stepJson(fields),
    times.expiresAt,
    planRefresh(hubId, times, deps.settings).dueAt,
    stepJson(writes),
  )
  if (is === 'foreign')
    log.error({ code: 'token.foreign', hubId, owner }, `account ${hubId}: ${foreign}; it is no longer polled`)
  return is === 'stored' ? { is, alerted: writes.entries.length > 0 } : { is }
}

const NO_TROUBLE = { rejectedAt: '', retryAt: '', parkedUntil: '' }
