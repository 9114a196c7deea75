import { ACCOUNT_STATES, type Keys } from './keys.ts'

/** No account has this id: what concerns the whole installation is kept, and told, under it. */
export const NOBODY = 0

/** The keys of one account and its partition, in the order in which `lua/include/account-step.lua` names them. */
export function accountStepKeys(keys: Keys, hubId: number): string[] {
  const account = keys.account(hubId)
  const partition = keys.partition(keys.partitionOf(hubId))
  return [
    ...[account.account, account.tokens, account.lease, account.readings, account.history, account.alerts],
    ...[partition.alerting, partition.outbox],
    ...[partition.due.refresh, partition.due.poll, partition.due.uninstall],
    ...ACCOUNT_STATES.map((state) => partition.state[state]),
  ]
}

/**
 * What an atomic step writes about alerts beside its own business: states, each guarded by the state that was read, and
 * the messages that go out because of it. Rooms that don't know alerts pass it on as it is.
 */
export interface AlertWrites {
  /** [field, state as it was read ('' = none), state from now on ('' = none)] */
  changes: [field: string, before: string, after: string][]
  /** Alerts as JSON. */
  messages: string[]
}

/** As an argument of an atomic step. Lua's JSON refuses half a surrogate pair, and with it the whole step. */
export function stepJson(value: unknown): string {
  const json = JSON.stringify(value)
  if (!/\\ud[89a-f]/i.test(json)) return json
  return JSON.stringify(value, (_, part: unknown) => (typeof part === 'string' ? part.toWellFormed() : part))
}

/** Of two that change different alerts. */
export function bothWrites(one: AlertWrites, other: AlertWrites): AlertWrites {
  return { changes: [...one.changes, ...other.changes], messages: [...one.messages, ...other.messages] }
}

export const NO_ALERT_WRITES: AlertWrites = { changes: [], messages: [] }
