import { COVERAGE } from '../../limits/coverage.ts'
import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import { NOBODY } from '../../redis/steps.ts'
import { decodeState } from '../alert-state.ts'
import type { FleetTrouble } from '../kinds/fleet-alert.ts'
import type { Route } from '../routing/route.ts'
import type { SilenceStore } from '../silences/silence-store.ts'
import type { Circumstances } from './hold.ts'

const TROUBLES: readonly FleetTrouble[] = ['token-endpoint', 'clock', COVERAGE]

interface CircumstanceDeps {
  store: Store
  keys: Keys
  silences: Pick<SilenceStore, 'active'>
  routes: readonly Route[]
}

/** What may keep alerts from being told, as it stands now. */
export async function readCircumstances(
  { store, keys, silences, routes }: CircumstanceDeps,
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
