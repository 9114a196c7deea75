import { Directory } from '../accounts/search/directory.ts'
import type { OperationDeps } from '../operations/deps.ts'
import { historyKeep, ruleSetOf } from './settings.ts'
import type { Stores } from './stores.ts'

/** Services of operations, of the stores of a daemon or a command. */
export function operationDeps(stores: Stores): OperationDeps {
  const { config, store, keys } = stores
  return {
    ...stores,
    directory: new Directory(store, keys),
    tags: config.tags,
    receivers: Object.keys(config.receivers),
    explain: ruleSetOf(config),
    historyKeep: historyKeep(config),
  }
}
