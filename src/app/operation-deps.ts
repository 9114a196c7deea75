import { readQueueDepths } from '../../jobs/queue-depths.ts'
import type { OperationDeps } from '../operations/deps.ts'
import type { Logger } from '../runtime/logger.ts'
import { actionsOnAccounts } from './account-actions.ts'
import type { Acting } from './account-jobs.ts'
import { actionsOnAlerts } from './alert-actions.ts'
import { actionsOnKeys } from './key-actions.ts'
import { planRules } from './plan-rules.ts'
import { actionsOnReceivers } from './receiver-actions.ts'
import { failFast, type Services } from './services.ts'
import { ruleSetOf } from './settings.ts'

/** Services of operations: they read on the connection that gives up, and act as jobs do on the one that waits. */
export function operationDeps(acting: Acting, services: Services): OperationDeps & { log: Logger } {
  const { config, queues, place, clock } = services
  const { pages, stop } = acting
  const failing = failFast(services, pages)
  return {
    ...failing,
    stop,
    tags: config.tags,
    receivers: Object.keys(config.receivers),
    explain: ruleSetOf(config),
    publicUrl: config.http.publicUrl,
    queueDepths: () => readQueueDepths(queues, pages),
    actions: {
      ...actionsOnAccounts(acting, services, failing),
      ...actionsOnAlerts(failing),
      ...actionsOnKeys(services, failing),
      ...actionsOnReceivers(failing, stop),
      planRules: (text, name) => planRules(place, clock, { text, name }),
    },
  }
}
