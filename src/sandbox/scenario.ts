export type Scenario = 'steady' | 'climbing'

interface ObjectType {
  readonly objectTypeId: string
  readonly singularLabel: string
  readonly pluralLabel: string
}

const CONTACTS: ObjectType = { objectTypeId: '0-1', singularLabel: 'Contact', pluralLabel: 'Contacts' }
const COMPANIES: ObjectType = { objectTypeId: '0-2', singularLabel: 'Company', pluralLabel: 'Companies' }
const DEALS: ObjectType = { objectTypeId: '0-3', singularLabel: 'Deal', pluralLabel: 'Deals' }
const TICKETS: ObjectType = { objectTypeId: '0-5', singularLabel: 'Ticket', pluralLabel: 'Tickets' }

const CUSTOM_LABELS = [
  ['Subscription', 'Subscriptions'],
  ['Vehicle', 'Vehicles'],
  ['Property Listing', 'Property Listings'],
  ['Shipment', 'Shipments'],
  ['Course', 'Courses'],
  ['Machine', 'Machines'],
  ['Policy', 'Policies'],
] as const

/** The eight object types of an account: the four of every account and four of its own. */
export function typesOfHub(hubId: number): readonly ObjectType[] {
  const custom = [0, 1, 2, 3].map((place) => {
    const [singularLabel, pluralLabel] = CUSTOM_LABELS[(hubId + place) % CUSTOM_LABELS.length] ?? CUSTOM_LABELS[0]
    return { objectTypeId: `2-${10_000_000 + (hubId % 1_000_000) * 10 + place}`, singularLabel, pluralLabel }
  })
  return [CONTACTS, COMPANIES, DEALS, TICKETS, ...custom]
}

export function objectType(hubId: number, objectTypeId: string): ObjectType {
  const known = typesOfHub(hubId).find((type) => type.objectTypeId === objectTypeId)
  return known ?? { objectTypeId, singularLabel: objectTypeId, pluralLabel: objectTypeId }
}

export interface ServedCustomPropertyReport {
  overallLimit: number
  overallUsage: number
  /** 0 to 100, three decimals. */
  overallPercentage: number
  byObjectType: {
    limit: number
    objectTypeId: string
    percentage: number
    pluralLabel: string
    singularLabel: string
    usage: number
  }[]
}

export interface ServedAssociationReport {
  limit: number
  totalRecordsAtLimit: number
  totalRecordsNearLimit: number
  atLimitFromRecordSamples: { label: string; objectId: number }[]
  nearLimitFromRecordSamples: { label: string; objectId: number; percentage: number; usage: number }[]
}

/** The pairs that reports know of, with the most associations that a record may have. Every other pair is empty. */
const PAIR_LIMITS: Readonly<Record<string, number>> = {
  [`${CONTACTS.objectTypeId}/${COMPANIES.objectTypeId}`]: 500,
  [`${COMPANIES.objectTypeId}/${CONTACTS.objectTypeId}`]: 10_000,
  [`${CONTACTS.objectTypeId}/${DEALS.objectTypeId}`]: 2_000,
  [`${DEALS.objectTypeId}/${CONTACTS.objectTypeId}`]: 250,
}

export const REPORTED_PAIRS: readonly (readonly [from: string, to: string])[] = Object.keys(PAIR_LIMITS).map((pair) => {
  const [from = '', to = ''] = pair.split('/')
  return [from, to]
})

const OVERALL_LIMIT = 10_000
const TYPE_LIMIT = 1_000
const MOST_SAMPLES = 10

/**
 * What an account's usage does over time. `quiet` stays where common thresholds are silent, `full` is over them from the
 * start, `climbing` passes 80 and then 95 %, `receding` does so too and then falls back.
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

const QUIET: Courses = { properties: 'quiet', associations: 'quiet' }

function coursesOf(scenario: Scenario, hubId: number): Courses {
  return scenario === 'steady' ? QUIET : (CLIMBING_COURSES[hubId % CLIMBING_COURSES.length] ?? QUIET)
}

/** `elapsedMs`: since the sandbox started. */
export function customPropertyReport(scenario: Scenario, hubId: number, elapsedMs: number): ServedCustomPropertyReport {
  const course = coursesOf(scenario, hubId).properties
  const progress = progressOf(course, hubId, elapsedMs)
  const byObjectType = typesOfHub(hubId).map((type, place) => {
    const start = between(0.08, 0.42, hubId, `type ${place}`)
    // One standard and one custom type fill up with the account: the others have their own lives.
    const share = place === 0 ? blend(start, 0.985, progress) : place === 4 ? blend(start, 0.997, progress) : start
    const usage = Math.round(share * TYPE_LIMIT)
    return { limit: TYPE_LIMIT, ...type, percentage: percentage(usage, TYPE_LIMIT), usage }
  })
  const start = between(0.42, 0.68, hubId, 'overall')
  const overallUsage = Math.round(blend(start, between(0.965, 0.992, hubId, 'peak'), progress) * OVERALL_LIMIT)
  return {
    overallLimit: OVERALL_LIMIT,
    overallUsage,
    overallPercentage: percentage(overallUsage, OVERALL_LIMIT),
    byObjectType,
  }
}

/** `elapsedMs`: since the sandbox started. */
export function associationReport(
  scenario: Scenario,
  hubId: number,
  pair: { from: string; to: string },
  elapsedMs: number,
): ServedAssociationReport {
  const name = `${pair.from}/${pair.to}`
  const limit = Object.hasOwn(PAIR_LIMITS, name) ? PAIR_LIMITS[name] : undefined
  if (limit === undefined) return emptyAssociationReport()
  const progress = progressOf(coursesOf(scenario, hubId).associations, hubId, elapsedMs)
  const quietly = Math.floor(between(-6, 10, hubId, `near ${name}`))
  // The first half of the way fills records up to near the limit, the second pushes some of them over.
  const near = Math.max(0, quietly) + Math.round(between(15, 212, hubId, `many ${name}`) * Math.min(1, progress * 2))
  const at = Math.round(between(3, 60, hubId, `at ${name}`) * Math.max(0, progress * 2 - 1))
  return {
    limit,
    totalRecordsAtLimit: at,
    totalRecordsNearLimit: near,
    atLimitFromRecordSamples: samples(at, (place) => record(hubId, pair.from, 500 + place)),
    nearLimitFromRecordSamples: samples(near, (place) => {
      const share = blend(between(0.8, 0.895, hubId, `share ${name} ${place}`), 0.995 - place / 100, progress)
      const usage = Math.min(limit - 1, Math.ceil(share * limit))
      return { ...record(hubId, pair.from, place), percentage: percentage(usage, limit), usage }
    }),
  }
}

export function emptyAssociationReport(): ServedAssociationReport {
  return {
    limit: 0,
    totalRecordsAtLimit: 0,
    totalRecordsNearLimit: 0,
    atLimitFromRecordSamples: [],
    nearLimitFromRecordSamples: [],
  }
}

/** How far an account is on its way from its usual level (0) to its highest (1). */
function progressOf(course: Course, hubId: number, elapsedMs: number): number {
  if (course === 'quiet') return 0
  if (course === 'full') return between(0.75, 0.9, hubId, 'full')
  const start = between(1_000, 5_000, hubId, 'start')
  const risen = ramp(elapsedMs, start, start + between(13_000, 17_000, hubId, 'climb'))
  if (course === 'climbing') return risen
  const turn = between(23_000, 25_000, hubId, 'turn')
  return risen - ramp(elapsedMs, turn, turn + 3_000)
}

/** 0 until `from`, 1 from `to` on, straight in between. */
function ramp(at: number, from: number, to: number): number {
  return Math.min(1, Math.max(0, (at - from) / (to - from)))
}

function blend(from: number, to: number, share: number): number {
  return from + (to - from) * share
}

function samples<T>(total: number, sample: (place: number) => T): T[] {
  return Array.from({ length: Math.min(total, MOST_SAMPLES) }, (_, place) => sample(place))
}

function record(hubId: number, objectTypeId: string, place: number): { label: string; objectId: number } {
  const objectId = (hubId % 100_000) * 10_000 + place
  return { label: recordLabel(objectTypeId, objectId), objectId }
}

/** 0 to 100 with three decimals, as the provider gives it. */
export function percentage(usage: number, limit: number): number {
  return limit === 0 ? 0 : Math.round((usage / limit) * 100_000) / 1_000
}

/** A number between two others that seems random but is always the same for the same account and purpose. */
function between(low: number, high: number, hubId: number, purpose: string): number {
  let hash = 2_166_136_261 ^ hubId
  for (let place = 0; place < purpose.length; place++) hash = Math.imul(hash ^ purpose.charCodeAt(place), 16_777_619)
  hash = Math.imul(hash ^ (hash >>> 15), 2_246_822_507)
  hash = Math.imul(hash ^ (hash >>> 13), 3_266_489_909)
  return low + (((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32) * (high - low)
}

const FIRST_NAMES = 'Ada Bruno Chidi Dana Emeka Freya Goran Hana Iris João Kaito Leïla'.split(' ')
const LAST_NAMES = ["O'Neill", 'Okafor', 'Svensson', 'Martín', 'Tanaka', 'Weber', 'Rossi', 'Novák', 'Haddad', 'Lind']
const PLACES = ['North', 'Harbor', 'Summit', 'Valley', 'Lake', 'Bridge', 'Prairie', 'Coast', 'Forest', 'Desert']
const TRADES = ['Foods & Sons', 'Logistics', 'Insurance', 'Robotics', 'Dental Care', 'Textiles', 'Analytics']
const PLANS = ['Annual plan', 'Renewal', 'Pilot', 'Expansion', 'Migration', 'Support contract']

/** What a person would see in the account as the name of this record; always the same for the same record. */
function recordLabel(objectTypeId: string, objectId: number): string {
  if (objectTypeId === CONTACTS.objectTypeId) return `${pick(FIRST_NAMES, objectId)} ${pick(LAST_NAMES, objectId, 7)}`
  if (objectTypeId === COMPANIES.objectTypeId) return companyName(objectId)
  if (objectTypeId === DEALS.objectTypeId) return `${pick(PLANS, objectId)} – ${companyName(objectId)}`
  return `Record ${objectId}`
}

function companyName(objectId: number): string {
  return `${pick(PLACES, objectId)} ${pick(TRADES, objectId, 3)}`
}

function pick(names: readonly string[], objectId: number, stride = 1): string {
  return names[Math.floor(objectId / stride) % names.length] ?? ''
}
