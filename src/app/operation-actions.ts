import type { Actions } from '../operations/actions.ts'
import { setContact, startUninstall } from './account-actions.ts'
import { type AccountJobs, pollNow, refreshNow } from './account-jobs.ts'
import { acknowledge, replayGivenUp, silenceAlerts, unacknowledge, unsilence } from './alert-actions.ts'
import type { Services } from './services.ts'

/** Actions of operations; `failFast`: the same services, on a connection that gives up. */
export function operationActions(jobs: AccountJobs, services: Services, failFast = services): Actions {
  // An account is read on the connection that waits, as its job does.
  const noting = { registry: services.registry, audit: failFast.audit }
  return {
    uninstall: (hubId, reason, who) => startUninstall(failFast, hubId, reason, who),
    setContact: (hubId, address, who) => setContact(failFast, hubId, address, who),
    silence: (silence, who) => silenceAlerts(failFast, silence, who),
    unsilence: (id, who) => unsilence(failFast, id, who),
    acknowledge: (seen, by, who) => acknowledge(failFast, seen, by, who),
    unacknowledge: (seen, who) => unacknowledge(failFast, seen, who),
    poll: (hubId, who) => pollNow(jobs, noting, hubId, who),
    refresh: (hubId, who) => refreshNow(jobs, noting, hubId, who),
    replay: (wanted, who) => replayGivenUp(failFast, wanted, who),
  }
}
