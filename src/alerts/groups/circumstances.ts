import { COVERAGE } from '../../limits/coverage.ts'
import { NOBODY } from '../../redis/steps.ts'
import { decodeState } from '../alert-state.ts'
import type { FleetTrouble } from '../kinds/fleet-alert.ts'
import type { RelayDeps } from '../outbox/relay.ts'
import type { Circumstances } from './hold.ts'

const TROUBLES: readonly FleetTrouble[] = ['token-endpoint', 'clock', COVERAGE]

/** What may keep alerts from being told, as it stands now. */
export async function readCircumstances(
  { store, keys, silences, routes }: Pick<RelayDeps, 'store' | 'keys' | 'silences' | 'routes'>,
  now: number,
): Promise<Circumstances> {
  const [active, states] = await Promise.all([
    silences.active(now),
    store.hmget(keys.account(NOBODY).alerts, ...TROUBLES),
  ])
  const fleet = TROUBLES.filter((_, n) => {
    const stored = states[n]
    return stored != null && decodeState(stored).level !== 'ok'
  })
  return { silences: active, routes, fleet }
}
