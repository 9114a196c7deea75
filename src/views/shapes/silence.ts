import * as z from 'zod'
import { count, moment, strangersText, text } from './words.ts'

export const MatcherShape = z
  .object({
    name: text('account, level, kind, rule, tag, series, objectType, from or to.'),
    value: strangersText('What it must be; `*` matches any characters. Of account: a hub id or a domain.'),
  })
  .meta({ id: 'Matcher', description: 'What a silence asks of an alert.' })

export const SilenceShape = z
  .object({
    id: text('Its id.').meta({ examples: ['s-4k7mp'] }),
    matchers: z.array(MatcherShape).describe('Several of one name mean any of them, different names all.'),
    author: strangersText('Who made it.'),
    comment: strangersText('Why.'),
    createdAt: moment('When it was made.'),
    endsAt: moment('When it ends, or ended.'),
    active: z.boolean().describe('Whether it is in force now.'),
    openAlerts: count('How many alerts that are open now it covers.'),
  })
  .meta({ id: 'Silence', description: 'Alerts that are held back for a while.' })
export type SilenceShape = z.infer<typeof SilenceShape>

export const UnsilencedShape = z
  .object({
    id: text('Its id.'),
    outcome: z.enum(['ended', 'over']).describe('`over`: it had ended already.'),
    endsAt: moment('When it ended.').nullable(),
  })
  .meta({ id: 'Unsilenced', description: 'What came of ending a silence.' })
