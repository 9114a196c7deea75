import { readQueueDepths } from '../../jobs/queue-depths.ts'
import { Directory } from '../accounts/search/directory.ts'
import type { OperationDeps } from '../operations/deps.ts'
import type { Logger } from '../runtime/logger.ts'
import { type Acting, operationActions } from './operation-actions.ts'
import type { Services } from './services.ts'
import { historyKeep, ruleSetOf } from './settings.ts'
import { buildStores } from './stores.ts'

/** Services of operations: they read on the connection that gives up, and act as jobs do on the one that waits. */
export function operationDeps(acting: Acting, services: Services): OperationDeps & { log: Logger } {
  const { config, metrics, queues } = services
  const { pages, stop } = acting
  const failFast = { ...services, ...buildStores({ ...services, store: pages }, config) }
  return {
    ...failFast,
    metrics,
    stop,
    directory: new Directory(pages, services.keys),
    tags: config.tags,
    receivers: Object.keys(config.receivers),
    explain: ruleSetOf(config),
    historyKeep: historyKeep(config),
    publicUrl: config.http.publicUrl,
    queueDepths: () => readQueueDepths(queues, pages),
    actions: operationActions(acting, services, failFast),
  }
}
