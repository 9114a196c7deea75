import { COMPANIES, CONTACTS, DEALS } from './object-types.ts'

const FIRST_NAMES = [
  'Ada',
  'Bruno',
  'Chidi',
  'Dana',
  'Emeka',
  'Freya',
  'Goran',
  'Hana',
  'Iris',
  'João',
  'Kaito',
  'Leïla',
]
const LAST_NAMES = ["O'Neill", 'Okafor', 'Svensson', 'Martín', 'Tanaka', 'Weber', 'Rossi', 'Novák', 'Haddad', 'Lind']
const PLACES = ['North', 'Harbor', 'Summit', 'Valley', 'Lake', 'Bridge', 'Prairie', 'Coast', 'Forest', 'Desert']
const TRADES = ['Foods & Sons', 'Logistics', 'Insurance', 'Robotics', 'Dental Care', 'Textiles', 'Analytics']
const PLANS = ['Annual plan', 'Renewal', 'Pilot', 'Expansion', 'Migration', 'Support contract']

/** What a person would see in the account as the name of this record; always the same for the same record. */
export function recordLabel(objectTypeId: string, objectId: number): string {
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
