import { unknownName } from '../../config/problems.ts'
import type { Replay, Replayed } from '../delivery/deliveries.ts'
import { wakeNow } from './account-actions.ts'
import type { Parts } from './parts.ts'

/** Sends again what was given up, each under its own id, for another three days; the sweep need not wait for the clock. */
export async function replayDeliveries(parts: Parts, wanted: Replay): Promise<Replayed> {
  const { deliveries, clock, config, log } = parts
  const receiver = 'ids' in wanted ? undefined : wanted.receiver
  const replayed =
    'ids' in wanted
      ? await deliveries.replayThese(wanted.ids, undefined, clock.now())
      : await deliveries.replay(wanted.since, receiver, clock.now())
  if (replayed > 0) {
    await Promise.all(wakeNow(parts, 'alerts'))
    log.info({ code: 'delivery.replayed', count: replayed }, 'deliveries that were given up are on their way again')
  }
  const known = Object.keys(config.receivers)
  // One that the config no longer has may have deliveries that were given up.
  if (replayed === 0 && receiver !== undefined && !known.includes(receiver)) {
    return { is: 'unknown-receiver', why: unknownName(receiver, known, 'no receiver has this name') }
  }
  const off = Object.keys(await deliveries.disabled())
  return { is: 'replayed', replayed, disabled: off.filter((name) => receiver === undefined || name === receiver) }
}
