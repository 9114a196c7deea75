import { cleanText } from '../text/clean-text.ts'

/** The provider's own object types, by their ids; all others are custom, and an account's own. */
const STANDARD: Readonly<Record<string, string>> = {
  '0-1': 'Contacts',
  '0-2': 'Companies',
  '0-3': 'Deals',
  '0-5': 'Tickets',
  '0-7': 'Products',
  '0-8': 'Line items',
  '0-14': 'Quotes',
  '0-18': 'Communications',
  '0-27': 'Tasks',
  '0-46': 'Notes',
  '0-47': 'Meetings',
  '0-48': 'Calls',
  '0-49': 'Emails',
  '0-53': 'Invoices',
  '0-69': 'Subscriptions',
  '0-101': 'Payments',
  '0-116': 'Postal mail',
  '0-123': 'Orders',
  '0-136': 'Leads',
  '0-142': 'Carts',
  '0-162': 'Services',
  '0-410': 'Courses',
  '0-420': 'Listings',
  '0-421': 'Appointments',
}

const NAMES: ReadonlySet<string> = new Set(Object.values(STANDARD))

/**
 * An object type for people, by the account's own label: `Property Listings`. A label that is the provider's name of
 * another type keeps its id: `Contacts (2-77)`.
 */
export function objectTypeName(id: string, label = ''): string {
  const standard = standardName(id)
  const ownId = cleanText(id, 40)
  const name = cleanText(label, 60) || standard || ownId
  return NAMES.has(name) && name !== standard && ownId !== '' ? `${name} (${ownId})` : name
}

/** An object type in a sentence: `company`, `companies`; of a label `record of Property Listings`. */
export interface TypeWords {
  name: string
  one: string
  many: string
  /** The object of a sentence: `contacts`, `Property Listings`. */
  held: string
}

export function wordsOfType(id: string, name: string): TypeWords {
  if (name !== standardName(id)) return { name, one: `record of ${name}`, many: `records of ${name}`, held: name }
  const many = name.toLowerCase()
  return { name, one: singular(many), many, held: many }
}

function standardName(id: string): string | undefined {
  return Object.hasOwn(STANDARD, id) ? STANDARD[id] : undefined
}

/** The singular of a noun of ours. */
export function singular(many: string): string {
  return many.replace(/ies$/, 'y').replace(/s$/, '')
}
