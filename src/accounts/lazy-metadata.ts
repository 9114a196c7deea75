import type { ProviderClient } from '../provider/client.ts'
import { opensLimits } from '../provider/scopes.ts'
import { accountSteps } from '../redis/account-steps.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { accountStepKeys, stepJson } from '../redis/steps.ts'
import type { Clock } from '../runtime/clock.ts'
import type { InFlight } from '../runtime/in-flight.ts'
import type { Logger } from '../runtime/logger.ts'
import { planRefresh, type RefreshSettings, type TokenTimes } from '../tokens/plan-refresh.ts'
import type { TokenAnnouncer } from '../tokens/refresh-account.ts'
import { tokenDrift } from '../tokens/token-drift.ts'
import type { Vault } from '../tokens/vault.ts'
import { askMetadata, type ScopesAnnouncer } from './metadata.ts'

export interface LazyMetadataDeps {
  provider: ProviderClient
  store: Store
  keys: Keys
  vault: Vault
  announce: TokenAnnouncer
  announceScopes: ScopesAnnouncer
  settings: RefreshSettings
  inFlight: InFlight
  clock: Clock
  log: Logger
}

/** What a poll knows of an account whose metadata was never read. */
export interface UnreadAccount {
  generation: string
  hubDomain: string
  obtainedAt: number
  expiresAt: number
  accessToken: Buffer | null
  alertStates: Record<string, string>
}

export type LazyMetadata =
  | { is: 'stored'; hubDomain: string; alerted: boolean }
  /** Not now: the rate is used up, or the provider did not answer. The mark stays. */
  | { is: 'later' }
  /** Somebody wrote tokens meanwhile: what was read may not be true of them. */
  | { is: 'lost' }
  /** The token belongs to another account: this one is not to be polled. */
  | { is: 'foreign' }

/** So that a fleet of 100,000 that was just imported doesn't ask for all its metadata at once. Over all workers. */
const MOST_READS = { calls: 10, perMs: 1_000 }

/** Reads the metadata of an account that came without: whose token it is, its domain, user, scopes, the token's life. */
export async function readDueMetadata(
  deps: LazyMetadataDeps,
  hubId: number,
  account: UnreadAccount,
): Promise<LazyMetadata> {
  if (account.accessToken === null || !(await mayRead(deps))) return { is: 'later' }
  const accessToken = deps.vault.open(account.accessToken, hubId, 'access')
  const { result, ...asked } = await deps.inFlight.run('normal', () => askMetadata(deps, accessToken))
  if (!result.ok) {
    const { code, message } = result.failure
    deps.log.warn({ code: 'metadata.failed', hubId, reason: code }, `${message}: asked again with the next poll`)
    return { is: 'later' }
  }
  if (result.value.hubId !== hubId) return refuse(deps, hubId, account, result.value.hubId)

  const { scopes, user, lifeLeftMs, hubDomain = account.hubDomain } = result.value
  const before: TokenTimes = { obtainedAt: account.obtainedAt, expiresAt: account.expiresAt }
  const { times, driftMs } = tokenDrift(before, { ...asked, lifeLeftMs })
  const isShorter = times.expiresAt < before.expiresAt
  const alerts = deps.announceScopes({
    ...{ hubId, hubDomain, scopes, opensLimits: opensLimits(scopes), now: deps.clock.now() },
    pollAlert: account.alertStates.poll ?? '',
  })
  const is = await deps.store.storeMetadata(
    ...accountStepKeys(deps.keys, hubId),
    ...[hubId, account.generation, scopes.join(' ')],
    stepJson({ hubDomain, ...(user === undefined ? {} : { user }), tokenDriftMs: String(driftMs ?? '') }),
    ...(isShorter ? [times.expiresAt, planRefresh(hubId, times, deps.settings).dueAt] : ['', '']),
    stepJson(alerts),
  )
  return is === 'stored' ? { is, hubDomain, alerted: alerts.entries.length > 0 } : { is }
}

/** The same for whoever can't wait for the next poll. Undefined: there is nothing to be read. */
export async function identifyAccount(deps: LazyMetadataDeps, hubId: number): Promise<LazyMetadata | undefined> {
  const { account, tokens, alerts } = deps.keys.account(hubId)
  const [fields, accessToken, alertStates] = await Promise.all([
    // The generation first: if it is still the same when the answer is stored, the token read here belongs to it.
    deps.store.hmget(account, 'metadataDue', 'generation', 'hubDomain', 'obtainedAt', 'expiresAt'),
    deps.store.hgetBuffer(tokens, 'access'),
    deps.store.hgetall(alerts),
  ])
  const [metadataDue, generation, hubDomain, obtainedAt, expiresAt] = fields
  if (metadataDue !== '1') return undefined
  return readDueMetadata(deps, hubId, {
    ...{ generation: generation ?? '', hubDomain: hubDomain ?? '', accessToken, alertStates },
    ...{ obtainedAt: Number(obtainedAt), expiresAt: Number(expiresAt) },
  })
}

async function mayRead({ store, keys, clock }: LazyMetadataDeps): Promise<boolean> {
  const asked = [clock.now(), 1, MOST_READS.calls, MOST_READS.perMs]
  const [granted] = await accountSteps(store).takeCalls(keys.metadataCalls, ...asked)
  return granted === 1
}

async function refuse(
  deps: LazyMetadataDeps,
  hubId: number,
  { generation, hubDomain, alertStates }: UnreadAccount,
  owner: number,
): Promise<LazyMetadata> {
  const now = deps.clock.now()
  const reason = `its refresh token belongs to account ${owner}`
  const fields = { failures: '1', failureClass: 'foreign', failureReason: reason, failureAt: String(now) }
  const announced = { hubId, hubDomain, tokenAlert: alertStates.token ?? '', now }
  const refused = await deps.store.refuseForeignToken(
    ...accountStepKeys(deps.keys, hubId),
    ...[hubId, generation, owner],
    stepJson({ ...fields, rejectedAt: '', retryAt: '', parkedUntil: '' }),
    stepJson(deps.announce.foreign(announced, owner)),
  )
  if (refused === 'lost') return { is: 'lost' }
  deps.log.error({ code: 'token.foreign', hubId, owner }, `account ${hubId}: ${reason}; it is no longer polled`)
  return { is: 'foreign' }
}
