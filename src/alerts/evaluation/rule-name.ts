import { cleanText } from '../../text/clean-text.ts'
import { metricName } from '../series-name.ts'
import type { Rule } from './rules.ts'

const GROUPS: Readonly<Record<string, string>> = {
  '*': 'all limits',
  'customProperties.*': 'custom properties',
  'associations.*': 'associations',
  'customProperties.objectType': 'custom properties',
  'limit-changed': 'limits that moved',
}

/** A rule for people: its name, or what it watches where it was given none: `custom properties, object types 2-*`. */
export function ruleName({ name, on, match }: Pick<Rule, 'name' | 'on' | 'match'>): string {
  if (name !== on) return cleanText(name, 80)
  const given: [string, readonly string[] | undefined][] = [
    ['object types', match?.objectType ?? (on === 'customProperties.objectType' ? ['*'] : undefined)],
    ['from', match?.from],
    ['to', match?.to],
    ['accounts', match?.account],
    ['tags', match?.tag?.map((tag) => tag.name)],
  ]
  const which = given.flatMap(([what, values]) => (values === undefined ? [] : [`${what} ${values.join(' or ')}`]))
  return cleanText([GROUPS[on] ?? metricName(on), ...which].join(', '), 120)
}
