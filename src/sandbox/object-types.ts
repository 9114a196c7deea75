export interface ObjectType {
  readonly objectTypeId: string
  readonly singularLabel: string
  readonly pluralLabel: string
}

export const CONTACTS: ObjectType = { objectTypeId: '0-1', singularLabel: 'Contact', pluralLabel: 'Contacts' }
export const COMPANIES: ObjectType = { objectTypeId: '0-2', singularLabel: 'Company', pluralLabel: 'Companies' }
export const DEALS: ObjectType = { objectTypeId: '0-3', singularLabel: 'Deal', pluralLabel: 'Deals' }
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
export function objectTypesOf(hubId: number): readonly ObjectType[] {
  const custom = [0, 1, 2, 3].map((place) => {
    const [singularLabel, pluralLabel] = CUSTOM_LABELS[(hubId + place) % CUSTOM_LABELS.length] ?? CUSTOM_LABELS[0]
    return { objectTypeId: `2-${10_000_000 + (hubId % 1_000_000) * 10 + place}`, singularLabel, pluralLabel }
  })
  return [CONTACTS, COMPANIES, DEALS, TICKETS, ...custom]
}

export function objectType(hubId: number, objectTypeId: string): ObjectType {
  const known = objectTypesOf(hubId).find((type) => type.objectTypeId === objectTypeId)
  return known ?? { objectTypeId, singularLabel: objectTypeId, pluralLabel: objectTypeId }
}
