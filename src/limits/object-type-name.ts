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

/** An object type for people: `Contacts`, `Projects (2-77)`. The id follows any name that is not the provider's own. */
export function objectTypeName(id: string, label = ''): string {
  const standard = Object.hasOwn(STANDARD, id) ? STANDARD[id] : undefined
  if (standard !== undefined && (label === '' || label === standard)) return standard
  const name = cleanText(label, 60)
  const ownId = cleanText(id, 40)
  if (name === '' || name === ownId) return ownId
  return ownId === '' ? name : `${name} (${ownId})`
}
