import { unknownName } from '../../config/problems.ts'
import type { Parts } from './parts.ts'

/** What came of sending again what was given up. */
export type ReplayedNow =
  | { is: 'replayed'; replayed: number; disabled: string[] }
  | { is: 'unknown-receiver'; why: string }

/** Sends again what was given up since a moment, each under its own id, for another three days. */
export async function replayDeliveries(
  parts: Pick<Parts, 'deliveries' | 'queues' | 'clock' | 'config'>,
  since: number,
  receiver: string | undefined,
): Promise<ReplayedNow> {
  const { deliveries, queues, clock, config } = parts
  const replayed = await deliveries.replay(since, receiver, clock.now())
  if (replayed > 0) await queues.wake('alerts', clock.now())
  const known = Object.keys(config.receivers)
  // One that the config no longer has may have got something that was given up.
  if (replayed === 0 && receiver !== undefined && !known.includes(receiver)) {
    return { is: 'unknown-receiver', why: unknownName(receiver, known, 'no receiver has this name') }
  }
  const off = Object.keys(await deliveries.disabled())
  return { is: 'replayed', replayed, disabled: off.filter((name) => receiver === undefined || name === receiver) }
}
