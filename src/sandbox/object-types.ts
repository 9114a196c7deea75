interface ObjectType {
  readonly objectTypeId: string
  readonly singularLabel: string
  readonly pluralLabel: string
}

const CONTACTS: ObjectType = { objectTypeId: '0-1', singularLabel: 'Contact', pluralLabel: 'Contacts' }
const COMPANIES: ObjectType = { objectTypeId: '0-2', singularLabel: 'Company', pluralLabel: 'Companies' }
const DEALS: ObjectType = { objectTypeId: '0-3', singularLabel: 'Deal', pluralLabel: 'Deals' }
const TICKETS: ObjectType = { objectTypeId: '0-5', singularLabel: 'Ticket', pluralLabel: 'Tickets' }
const ORDERS: ObjectType = { objectTypeId: '0-123', singularLabel: 'Order', pluralLabel: 'Orders' }

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

export function isCustom(objectTypeId: string): boolean {
  return objectTypeId.startsWith('2-')
}

export function objectType(hubId: number, objectTypeId: string): ObjectType {
  const known = [...typesOfHub(hubId), ORDERS].find((type) => type.objectTypeId === objectTypeId)
  return known ?? { objectTypeId, singularLabel: objectTypeId, pluralLabel: objectTypeId }
}

const FIRST_NAMES = 'Ada Bruno Chidi Dana Emeka Freya Goran Hana Iris João Kaito Leïla'.split(' ')
const LAST_NAMES = ["O'Neill", 'Okafor', 'Svensson', 'Martín', 'Tanaka', 'Weber', 'Rossi', 'Novák', 'Haddad', 'Lind']
const PLACES = ['North', 'Harbor', 'Summit', 'Valley', 'Lake', 'Bridge', 'Prairie', 'Coast', 'Forest', 'Desert']
const TRADES = ['Foods & Sons', 'Logistics', 'Insurance', 'Robotics', 'Dental Care', 'Textiles', 'Analytics']
const PLANS = ['Annual plan', 'Renewal', 'Pilot', 'Expansion', 'Migration', 'Support contract']

/** A record of this type in the account; always the same in the same place. */
export function recordOf(hubId: number, objectTypeId: string, place: number): { label: string; objectId: number } {
  const objectId = (hubId % 100_000) * 10_000 + place
  return { label: recordLabel(objectTypeId, objectId), objectId }
}

/** The name that people see in the account for this record; always the same for the same record. */
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
