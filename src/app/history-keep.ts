import type { Config } from '../../config/schema.ts'
import type { Keep } from '../limits/history/resolutions.ts'

/** How long readings are kept, for thinning them out and for reading the past. */
export function historyKeep({ limits: { history } }: Pick<Config, 'limits'>): Keep {
  return { rawMs: history.raw, hourlyMs: history.hourly, dailyMs: history.daily }
}
