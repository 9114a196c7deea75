import { dice, type Roll } from './dice.ts'

/**
 * Answers of the limits endpoints as large as an account's can be: 25 object types, and of four pairs ten samples of
 * each kind. Ids and names differ from account to account, as real ones do, so that compression has no easy game; the
 * same account's are always the same.
 */
export function reportsOf(hubId: number): { customProperties: CustomProperties; associations: Record<string, object> } {
  const roll = dice(hubId)
  return {
    customProperties: customProperties(roll),
    associations: Object.fromEntries(PAIRS.map((pair) => [pair, associations(roll)])),
  }
}

export type CustomProperties = ReturnType<typeof customProperties>

const PAIRS = ['0-1/0-2', '0-2/0-1', '0-1/0-3', '0-3/0-1']
const STANDARD_TYPES = [
  ['0-1', 'Contact', 'Contacts'],
  ['0-2', 'Company', 'Companies'],
  ['0-3', 'Deal', 'Deals'],
  ['0-5', 'Ticket', 'Tickets'],
  ['0-7', 'Product', 'Products'],
  ['0-8', 'Line item', 'Line items'],
  ['0-14', 'Quote', 'Quotes'],
  ['0-136', 'Lead', 'Leads'],
] as const
const OBJECT_TYPES = 25
const SAMPLES = 10

function customProperties(roll: Roll) {
  const types = Array.from({ length: OBJECT_TYPES }, (_, n) => {
    const name = word(roll)
    const [objectTypeId, singularLabel, pluralLabel] = STANDARD_TYPES[n] ?? [
      `2-${10_000_000 + roll(90_000_000)}`,
      name,
      `${name}s`,
    ]
    const usage = roll(1_000)
    return { limit: 1_000, objectTypeId, percentage: percentage(usage, 1_000), pluralLabel, singularLabel, usage }
  })
  const overallUsage = types.reduce((sum, { usage }) => sum + usage, 0)
  return {
    byObjectType: types,
    overallLimit: 25_000,
    overallPercentage: percentage(overallUsage, 25_000),
    overallUsage,
  }
}

function associations(roll: Roll): object {
  const sample = () => ({ label: `${word(roll)} ${word(roll)}`, objectId: 10_000_000_000 + roll(90_000_000_000) })
  return {
    atLimitFromRecordSamples: Array.from({ length: SAMPLES }, sample),
    limit: 10_000,
    nearLimitFromRecordSamples: Array.from({ length: SAMPLES }, () => {
      const usage = 8_000 + roll(2_000)
      return { ...sample(), percentage: percentage(usage, 10_000), usage }
    }),
    totalRecordsAtLimit: SAMPLES + roll(100),
    totalRecordsNearLimit: SAMPLES + roll(100),
  }
}

export function percentage(usage: number, limit: number): number {
  return Math.round((usage * 100_000) / limit) / 1_000
}

const CONSONANTS = 'bdfgklmnprstvz'
const VOWELS = 'aeiou'

function word(roll: Roll): string {
  const syllable = () => `${CONSONANTS[roll(CONSONANTS.length)]}${VOWELS[roll(VOWELS.length)]}`
  const text = Array.from({ length: 2 + roll(3) }, syllable).join('')
  return text.charAt(0).toUpperCase() + text.slice(1)
}
