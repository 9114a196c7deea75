import { Turns } from '../../jobs/deliver.ts'
import { ClockWatch } from '../runtime/clock-watch.ts'
import { InFlight } from '../runtime/in-flight.ts'
import type { AppInput } from './parts.ts'

/** Of the connections to the provider, those that polls may not take, but no more than a quarter. */
const KEPT_FOR_TOKENS = 16

/** What the jobs of this process have in common, whatever config each of them works by. */
export type Lasting = ReturnType<typeof createLasting>

export function createLasting({ config, clock }: AppInput) {
  const { connections } = config.provider
  return {
    startedAt: clock.now(),
    inFlight: new InFlight(connections, Math.min(KEPT_FOR_TOKENS, Math.ceil(connections / 4))),
    /** Accounts of this process whose new tokens Redis has refused to take so far. */
    unstored: new Set<number>(),
    clockWatch: new ClockWatch(clock, () => performance.now()),
    turns: new Turns(),
  }
}
