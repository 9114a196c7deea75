import type { Registry } from '../../accounts/registry.ts'
import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import { type OpenState, openStatesOf, readOpenStates } from '../open-states.ts'

export type FoundAlert =
  | { is: 'found'; alert: OpenState }
  /** No open alert has it. */
  | { is: 'unknown' }
  | { is: 'several'; ids: string[] }
  /** Nothing that could be the id of an alert. */
  | { is: 'no-id' }

interface FindDeps {
  store: Store
  keys: Keys
  registry: Pick<Registry, 'alerting'>
}

/** An alert's id, or how it begins; what follows a hyphen is the number of one of its transitions. */
const ID = /^([0-9a-f]{6,16})(?:-\d{1,9})?$/i

/** The open alert with this id, or with the only one that begins so. All accounts with alerts are looked through. */
export async function findAlert({ store, keys, registry }: FindDeps, text: string): Promise<FoundAlert> {
  const [, beginning] = ID.exec(text.trim()) ?? []
  if (beginning === undefined) return { is: 'no-id' }
  const found: OpenState[] = []
  for await (const some of readOpenStates(store, keys, await registry.alerting())) {
    found.push(...some.filter(({ id }) => id.startsWith(beginning.toLowerCase())))
  }
  const [alert, ...others] = found
  if (alert === undefined) return { is: 'unknown' }
  return others.length === 0 ? { is: 'found', alert } : { is: 'several', ids: found.map(({ id }) => id).sort() }
}

/** The open alert with this id among those of one account. */
export async function findAlertOf(
  { store, keys }: Pick<FindDeps, 'store' | 'keys'>,
  hubId: number,
  alertId: string,
): Promise<OpenState | undefined> {
  return (await openStatesOf(store, keys, hubId)).find(({ id }) => id === alertId)
}
