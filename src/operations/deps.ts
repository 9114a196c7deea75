import type { Tags } from '../accounts/match-account.ts'
import type { Directory } from '../accounts/search/directory.ts'
import type { SilenceStore } from '../alerts/silence-store.ts'
import type { ViewDeps } from '../views/view-deps.ts'
import type { Actions } from './actions.ts'

/** Services of operations, in a daemon and in the process of a command. A function takes those that it uses. */
export interface OperationDeps extends Omit<ViewDeps, 'queueDepths'> {
  /** The names of all accounts, for searching. */
  directory: Directory
  /** The config's names for some accounts. */
  tags: Tags
  silences: SilenceStore
}

/** The same, with the actions that change something. */
export interface ActingDeps extends OperationDeps {
  actions: Actions
}
