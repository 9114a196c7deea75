import type { Replay } from '../http/pages/deliveries/serve-delivery-forms.ts'
import { wakeNow } from './account-actions.ts'
import type { Parts } from './parts.ts'
import { sendTest } from './test-receiver.ts'

/** What was given up goes out again; the sweep need not wait for the clock. */
export async function replayDeliveries(parts: Parts, wanted: Replay): Promise<number> {
  const { deliveries, clock, log } = parts
  const now = clock.now()
  const count =
    'ids' in wanted
      ? await deliveries.replayThese(wanted.ids, undefined, now)
      : await deliveries.replay(wanted.since, wanted.receiver, now)
  if (count > 0) {
    await Promise.all(wakeNow(parts, 'alerts'))
    log.info({ code: 'delivery.replayed', count }, 'deliveries that were given up are on their way again')
  }
  return count
}

/** How long somebody who pressed a button waits for a slow receiver. */
const PATIENCE_MS = 10_000

/** Through the very receiver that the daemon sends through, as this config has it. */
export async function testOneReceiver(
  { config, receiverStore, clock }: Parts,
  name: string,
): Promise<'delivered' | 'failed' | 'unknown'> {
  const settings = Object.hasOwn(config.receivers, name) ? config.receivers[name] : undefined
  if (settings === undefined) return 'unknown'
  const { id, outcome, ms } = await sendTest(config, name, settings, clock, AbortSignal.timeout(PATIENCE_MS))
  await receiverStore.recordTest(id, name, outcome, ms, clock.now())
  return outcome.outcome === 'delivered' ? 'delivered' : 'failed'
}
