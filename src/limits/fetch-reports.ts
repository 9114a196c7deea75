import type { ProviderClient } from '../provider/client.ts'
import type { ProviderFailure, ProviderResult } from '../provider/failure.ts'
import type { Clock } from '../runtime/clock.ts'
import type { InFlight } from '../runtime/in-flight.ts'
import type { Secret } from '../runtime/secret.ts'
import type { CallShare } from './call-share.ts'
import { type Fetched, isFailure, type Pair, pairId } from './readings.ts'

export interface FetchDeps {
  provider: ProviderClient
  share: CallShare
  inFlight: InFlight
  clock: Clock
  /** Keeps the account claimed: one with many pairs takes longer than a claim lasts. */
  stillPolling: (hubId: number) => Promise<void>
}

/**
 * Both limits endpoints (interface 4.5, 4.6) for one account, as many calls at a time as its share allows; undefined if
 * `signal` came first.
 */
export async function fetchReports(
  deps: FetchDeps,
  hubId: number,
  accessToken: Secret,
  pairs: readonly Pair[],
  signal: AbortSignal,
): Promise<Fetched | undefined> {
  const fetched: Fetched = { at: deps.clock.now(), customProperties: NOT_ASKED, associations: new Map() }
  const calls = [
    async () => {
      fetched.customProperties = valueOrFailure(await deps.provider.customProperties(accessToken))
    },
    ...pairs.map((pair) => async () => {
      const report = await deps.provider.associations(accessToken, pair.from, pair.to)
      fetched.associations.set(pairId(pair), valueOrFailure(report))
    }),
  ]
  for (let begun = 0; begun < calls.length; ) {
    const granted = await deps.share.take(hubId, calls.length - begun, signal)
    if (granted === 0) return undefined
    if (begun > 0) await deps.stillPolling(hubId)
    await Promise.all(calls.slice(begun, begun + granted).map((call) => deps.inFlight.run('normal', call)))
    begun += granted
  }
  return fetched
}

const NOT_ASKED: ProviderFailure = { class: 'transient', code: 'not-asked', message: 'not asked yet', status: 0 }

function valueOrFailure<T extends object>(result: ProviderResult<T>): T | ProviderFailure {
  return result.ok ? result.value : result.failure
}

/** Whether the access token was not accepted: worth one refresh and one more try. */
export function wasUnauthorized(fetched: Fetched): boolean {
  const reports = [fetched.customProperties, ...fetched.associations.values()]
  return reports.some((report) => isFailure(report) && report.class === 'unauthorized')
}
