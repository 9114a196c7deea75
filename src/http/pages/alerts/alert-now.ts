import type { Alert } from '../../../alerts/alert.ts'
import { openAlertMessages, readAlertedAccounts } from '../../../alerts/open-alert-message.ts'
import type { OpenState } from '../../../alerts/open-alerts.ts'
import { defined } from '../../../runtime/defined.ts'
import type { NotificationShape } from '../../../views/shapes/explanation.ts'
import type { WebDeps } from '../../web-deps.ts'

interface Known {
  /** Newest transition of the alert, where the log still has it. */
  last: Pick<NotificationShape['alert'], 'message' | 'previous' | 'records' | 'measuredAt'> | undefined
  /** Records behind its series, as last read. */
  records: Alert['records'] | undefined
}

/** An open alert as a message of now would have it; undefined where it has just ended. */
export async function alertNow(
  { store, keys, publicUrl, explain: { rules } }: WebDeps,
  { hubId, field }: OpenState,
  { last, records }: Known,
  now: number,
): Promise<Alert | undefined> {
  const settings = { rules, pageOf: (one: number) => `${publicUrl}/accounts/${one}`, page: `${publicUrl}/` }
  const [account] = await readAlertedAccounts(store, keys, [hubId])
  const stored = account?.states[field]
  if (account === undefined || stored === undefined) return undefined
  const [alert] = openAlertMessages(settings, { ...account, states: { [field]: stored } }, now)
  // Only the message that was sent has the words of the event and the level before.
  const { message, previous } = last ?? {}
  const isLast = last?.measuredAt === alert?.measuredAt
  return (
    alert && {
      ...alert,
      ...defined({ message, previous, records: isLast ? last?.records : (records ?? last?.records) }),
    }
  )
}
