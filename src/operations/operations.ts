import type { Fields } from './field.ts'
import type { Operation } from './operation.ts'

/** Everything that API and command line have in common, in the order of help and document. Each is loaded when it is asked for. */
export const OPERATIONS = {
  changes: async () => (await import('./changes.ts')).changes,
  upcoming: async () => (await import('./upcoming.ts')).upcoming,
  'accounts list': async () => (await import('./list-accounts.ts')).accountList,
  'accounts show': async () => (await import('./show-account.ts')).accountDetails,
  'accounts poll': async () => (await import('./poll-account.ts')).accountPoll,
  'accounts refresh': async () => (await import('./refresh-account.ts')).accountRefresh,
  'accounts contact': async () => (await import('./account-contact.ts')).accountContact,
  'accounts uninstall': async () => (await import('./uninstall-account.ts')).accountUninstall,
  'alerts list': async () => (await import('./list-alerts.ts')).alertList,
  'alerts log': async () => (await import('./log-alerts.ts')).alertLog,
  'alerts ack': async () => (await import('./acknowledge-alert.ts')).acknowledgement,
  'alerts unack': async () => (await import('./unacknowledge-alert.ts')).unacknowledgement,
  'alerts silence': async () => (await import('./make-silence.ts')).silenceMaking,
  'alerts unsilence': async () => (await import('./end-silence.ts')).silenceEnding,
  'alerts silences': async () => (await import('./list-silences.ts')).silenceList,
  'alerts explain': async () => (await import('./explain-alerts.ts')).alertExplanation,
  'outbox replay': async () => (await import('./replay-deliveries.ts')).deliveryReplay,
  'audit list': async () => (await import('./list-audit.ts')).auditList,
} as const satisfies Record<string, () => Promise<unknown>>

export type OperationName = keyof typeof OPERATIONS
export const OPERATION_NAMES = Object.keys(OPERATIONS) as readonly OperationName[]

export function isOperation(name: string): name is OperationName {
  return Object.hasOwn(OPERATIONS, name)
}

/** Loads an operation for a caller that knows its name alone: no type depends on its fields and its value. */
export async function loadOperation(name: OperationName): Promise<Operation> {
  return (await OPERATIONS[name]()) as unknown as Operation<Fields, unknown>
}
