import { z } from 'zod'
import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import { LAST_MOMENT } from '../../runtime/moment.ts'
import { Forecast } from './forecast.ts'
import { Prediction } from './predictions.ts'

/** The last forecast of an account's series, by their ids. One that is in neither shows no steady growth. */
const AccountForecasts = z.object({
  /** Moment of the forecast, ms. */
  at: z.int().max(LAST_MOMENT),
  rising: z.record(z.string(), Forecast),
  /** How many daily points there are, where they are too few. */
  tooFew: z.record(z.string(), z.number()),
  /** On record, of series that come near their limits; absent: none. */
  predictions: z.record(z.string(), Prediction).exactOptional(),
})
export type AccountForecasts = z.infer<typeof AccountForecasts>

/** Three days: the pace of six weeks is not another one after a day or two without a new forecast. */
const KEPT_MS = 3 * 86_400_000

/** Undefined for what is too old to be used. */
export function freshForecasts(forecasts: AccountForecasts | undefined, now: number): AccountForecasts | undefined {
  return forecasts === undefined || now - forecasts.at > KEPT_MS ? undefined : forecasts
}

/** The first moment at which stored forecasts are too old, ms; those that are so already stay so. */
export function freshUntil(stored: string, now: number): number {
  // Not parsed: every poll asks. '' = there are none.
  const until = Number.parseInt(stored.slice('{"at":'.length), 10) + KEPT_MS + 1
  return until > now ? until : LAST_MOMENT
}

/** Replaces the earlier forecast; undefined takes it away. An account that leaves, or is forgotten, gets none any more. */
export function storeForecasts(
  store: Store,
  keys: Keys,
  hubId: number,
  forecasts: AccountForecasts | undefined,
): Promise<'stored' | 'gone'> {
  return store.storeForecasts(keys.own(hubId), forecasts === undefined ? '' : encode(forecasts))
}

function encode({ at, ...rest }: AccountForecasts): string {
  return JSON.stringify({ at, ...rest })
}

/** Undefined for what is no forecast: it is made anew within a day. */
export function decodeForecasts(stored: string | null): AccountForecasts | undefined {
  try {
    return AccountForecasts.safeParse(JSON.parse(stored ?? '')).data
  } catch {
    return undefined
  }
}
