import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import { accountStepKeys, NOBODY, stepJson } from '../../redis/steps.ts'
import { alertId } from '../alert-state.ts'
import { encodeEntry } from '../outbox/outbox-entry.ts'

/** Tells the other receivers that one is disabled. It closes by itself: there is no state to leave. */
export async function announceDisabled(
  store: Store,
  keys: Keys,
  receiver: string,
  reason: string,
  now: number,
): Promise<void> {
  const at = new Date(now).toISOString()
  // The same for whoever finds it out in the same minute: two workers, or one that died halfway.
  const minute = Math.floor(now / 60_000)
  const entry = encodeEntry({
    notTo: receiver,
    alert: {
      id: `${alertId(NOBODY, `delivery/${receiver}`, minute)}-1`,
      kind: 'delivery',
      status: 'firing',
      level: 'critical',
      reason: 'entered',
      rule: 'delivery',
      measuredAt: at,
      since: at,
      message:
        `The receiver ${receiver} is disabled: it wants no more messages (${reason}). ` +
        'It gets none until the daemon is started again.',
    },
  })
  await store.changeAlerts(...accountStepKeys(keys, NOBODY), NOBODY, stepJson({ changes: [], entries: [entry] }))
}
