import type { Who } from '../audit/audited.ts'
import type { Actions } from '../operations/actions.ts'
import { Refusal } from '../operations/refusal.ts'
import type { Store } from '../redis/connect.ts'
import type { Secret } from '../runtime/secret.ts'
import type { AccessTokens } from '../tokens/access-token.ts'
import { VaultError } from '../tokens/vault.ts'
import {
  connectByToken,
  exportFleet,
  giveContact,
  importFleet,
  makeReconnectLink,
  serveAccessToken,
  startUninstall,
} from './account-actions.ts'
import { type AccountJobs, pollNow, refreshNow } from './account-jobs.ts'
import { acknowledge, replayGivenUp, silenceAlerts, unacknowledge, unsilence } from './alert-actions.ts'
import { endAdminToken, makeAdminToken, readAdminTokens, rekeyStored } from './key-actions.ts'
import { planRules } from './plan-rules.ts'
import type { Services } from './services.ts'
import { showNamed, testNamed } from './test-receiver.ts'

/** Parts of operations beside the services in force. */
export interface Acting {
  /** A connection that gives up after two seconds. */
  pages: Store
  accessTokens: AccessTokens
  jobs: AccountJobs
  stop: AbortSignal
}

/** Actions of operations; `failFast`: the same services, on the connection that gives up. */
export function operationActions(
  { jobs, accessTokens, stop }: Acting,
  services: Services,
  failFast: Services,
): Actions {
  // An account is read on the connection that waits, as its job does.
  const noting = { registry: services.registry, audit: failFast.audit }
  return {
    uninstall: (hubId, reason, who) => startUninstall(failFast, hubId, reason, who),
    setContact: (hubId, address, who) => giveContact(failFast, hubId, address, who),
    silence: (silence, who) => silenceAlerts(failFast, silence, who),
    unsilence: (id, who) => unsilence(failFast, id, who),
    acknowledge: (seen, by, who) => acknowledge(failFast, seen, by, who),
    unacknowledge: (seen, who) => unacknowledge(failFast, seen, who),
    poll: (hubId, who) => pollNow(jobs, noting, hubId, who),
    pollForCheck: async (hubIds, who) => {
      const [hubId, ...others] = hubIds
      const isOne = hubId !== undefined && others.length === 0
      const whose = isOne ? { hubId } : { detail: hubId === undefined ? 'all of them' : hubIds.join(', ') }
      await failFast.audit.note({ action: 'account.polled', who, ...whose })
      return jobs.poll
    },
    refresh: (hubId, who) => refreshNow(jobs, noting, hubId, who),
    replay: (wanted, who) => replayGivenUp(failFast, wanted, who),
    reconnectLink: (hubId, who) => makeReconnectLink(failFast, hubId, who),
    accessToken: (hubId, who) => serveAccessToken(accessTokens, failFast, hubId, who),
    testReceiver: (name, who) => testNamed(failFast, name, stop, who),
    showTestMessage: (name, kind) => showNamed(services, name, kind),
    // A token that is being stored waits for Redis.
    connect: (refreshToken, who) => connectGiven(services, refreshToken, who),
    importAccounts: (lines, options, who) => importFleet(services, lines, options, who),
    exportAccounts: (who) => exportFleet(failFast, who),
    planRules: (text, name) => planRules(services.place, services.clock, { text, name }),
    adminTokens: () => readAdminTokens(failFast),
    addAdminToken: (name, scopes, who) => makeAdminToken(failFast, name, scopes, who),
    removeAdminToken: (name, who) => endAdminToken(failFast, name, who),
    rekey: (watcher, who) => rekeyStored(services, watcher, who),
  }
}

async function connectGiven(services: Services, refreshToken: Secret, who: Who) {
  try {
    return await connectByToken(services, refreshToken, who)
  } catch (error) {
    if (!(error instanceof VaultError)) throw error
    throw new Refusal('unavailable', `its newest refresh token is kept sealed, and can't be opened: ${error.message}`)
  }
}
