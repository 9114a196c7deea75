const HOUR_MS = 3_600_000

/** How far back deliveries that were given up are sent again. They are kept for 30 days. */
export const SINCE = [
  { value: '1h', text: 'hour', ms: HOUR_MS },
  { value: '24h', text: '24 hours', ms: 24 * HOUR_MS },
  { value: '3d', text: '3 days', ms: 72 * HOUR_MS },
  { value: '30d', text: '30 days', ms: 720 * HOUR_MS },
] as const
