export type Scenario = 'steady' | 'climbing'

/**
 * The usage of an account over time. `quiet` stays where common thresholds are silent, `full` is over them from the start,
 * `climbing` passes 80 and then 95 %, `receding` does so too and then falls back.
 */
type Course = 'quiet' | 'full' | 'climbing' | 'receding'

interface Courses {
  readonly properties: Course
  readonly associations: Course
}

/** By the last digit of the hub id, so that any ten accounts in a row show everything. */
const CLIMBING_COURSES: readonly Courses[] = [
  { properties: 'quiet', associations: 'quiet' },
  { properties: 'climbing', associations: 'climbing' },
  { properties: 'quiet', associations: 'quiet' },
  { properties: 'receding', associations: 'quiet' },
  { properties: 'climbing', associations: 'quiet' },
  { properties: 'quiet', associations: 'climbing' },
  { properties: 'climbing', associations: 'receding' },
  { properties: 'full', associations: 'quiet' },
  { properties: 'receding', associations: 'receding' },
  { properties: 'climbing', associations: 'full' },
]

/** An account, and the time since the sandbox started. */
export interface AccountMoment {
  readonly scenario: Scenario
  readonly hubId: number
  readonly elapsedMs: number
}

/** Other counts have the course that the properties of some other account have. */
function courseOf({ scenario, hubId }: AccountMoment, what: string): Course {
  if (scenario === 'steady') return 'quiet'
  const known = what === 'properties' || what === 'associations'
  const shift = known ? 0 : Math.floor(seeded(0, CLIMBING_COURSES.length, 0, what))
  return CLIMBING_COURSES[(hubId + shift) % CLIMBING_COURSES.length]?.[known ? what : 'properties'] ?? 'quiet'
}

/** How far an account is on its way from its usual level of something (0) to its highest (1). */
export function progressOf(moment: AccountMoment, what: string): number {
  const { hubId, elapsedMs } = moment
  const course = courseOf(moment, what)
  if (course === 'quiet') return 0
  if (course === 'full') return seeded(0.75, 0.9, hubId, 'full')
  const start = seeded(1_000, 5_000, hubId, 'start')
  const risen = ramp(elapsedMs, start, start + seeded(13_000, 17_000, hubId, 'climb'))
  if (course === 'climbing') return risen
  const turn = seeded(23_000, 25_000, hubId, 'turn')
  return risen - ramp(elapsedMs, turn, turn + 3_000)
}

/** 0 until `from`, 1 from `to` on, straight in between. */
function ramp(at: number, from: number, to: number): number {
  return Math.min(1, Math.max(0, (at - from) / (to - from)))
}

export function blend(from: number, to: number, share: number): number {
  return from + (to - from) * share
}

/** How many there are of something that may be `limit` at most: from a quiet level up to nearly all. */
export function risingUsage(moment: AccountMoment, { limit, what }: { limit: number; what: string }): number {
  const start = seeded(0.08, 0.68, moment.hubId, what)
  const peak = seeded(0.965, 0.995, moment.hubId, `peak of ${what}`)
  return Math.round(blend(start, peak, progressOf(moment, what)) * limit)
}

/** 0 to 100 with three decimals, as the provider gives it. */
export function percentage(usage: number, limit: number): number {
  return limit === 0 ? 0 : Math.round((usage / limit) * 100_000) / 1_000
}

/** A number between two others that seems random but is always the same for the same account and purpose. */
export function seeded(low: number, high: number, hubId: number, purpose: string): number {
  let hash = 2_166_136_261 ^ hubId
  for (let place = 0; place < purpose.length; place++) hash = Math.imul(hash ^ purpose.charCodeAt(place), 16_777_619)
  hash = Math.imul(hash ^ (hash >>> 15), 2_246_822_507)
  hash = Math.imul(hash ^ (hash >>> 13), 3_266_489_909)
  return low + (((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32) * (high - low)
}
