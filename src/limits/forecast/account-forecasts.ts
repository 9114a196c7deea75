import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import { accountStepKeys } from '../../redis/steps.ts'
import type { Forecast } from './forecast.ts'

/** The last forecast of an account's series, by their ids. One that is in neither shows no steady growth. */
export interface AccountForecasts {
  /** When it was made, ms. */
  at: number
  rising: Record<string, Forecast>
  /** How many daily points there are, where they are too few. */
  tooFew: Record<string, number>
}

/** Three days: the pace of six weeks is not another one after a day or two without a new forecast. */
const KEPT_MS = 3 * 86_400_000

/** Undefined for what is too old to be used. */
export function freshForecasts(forecasts: AccountForecasts | undefined, now: number): AccountForecasts | undefined {
  return forecasts === undefined || now - forecasts.at > KEPT_MS ? undefined : forecasts
}

/** Whether forecasts as they are stored are fresh; '' = there are none. Nothing is parsed for it: every poll asks. */
export function areFresh(stored: string, now: number): boolean {
  return now - Number.parseInt(stored.slice(1), 10) <= KEPT_MS
}

/** Replaces the earlier forecast; undefined takes it away. An account that leaves, or is forgotten, gets none any more. */
export function storeForecasts(
  store: Store,
  keys: Keys,
  hubId: number,
  forecasts: AccountForecasts | undefined,
): Promise<'stored' | 'gone'> {
  return store.storeForecasts(...accountStepKeys(keys, hubId), forecasts === undefined ? '' : encode(forecasts))
}

function encode({ at, rising, tooFew }: AccountForecasts): string {
  const paces = Object.entries(rising).map(([id, { perDay, perDayLow, perDayHigh, scatter, shareHigh }]) => [
    id,
    ...[perDay, perDayLow, perDayHigh, scatter, shareHigh].map(short),
  ])
  return JSON.stringify([at, paces, Object.entries(tooFew)])
}

/** Undefined for what is no forecast: it is made anew within a day. */
export function decodeForecasts(stored: string | null): AccountForecasts | undefined {
  if (stored === null || stored === '') return undefined
  try {
    const [at, paces, tooFew] = JSON.parse(stored) as [number, [string, ...number[]][], [string, number][]]
    if (!Number.isFinite(at)) return undefined
    // Earlier versions kept the first three numbers.
    const rising = paces.map(
      ([id, perDay = 0, perDayLow = 0, perDayHigh = 0, scatter = 0, shareHigh = 0]) =>
        [id, { perDay, perDayLow, perDayHigh, scatter, shareHigh }] as const,
    )
    return { at, rising: Object.fromEntries(rising), tooFew: Object.fromEntries(tooFew) }
  } catch {
    return undefined
  }
}

/** Four digits: far more than any forecast is good for. */
function short(perDay: number): number {
  return Number(perDay.toPrecision(4))
}
