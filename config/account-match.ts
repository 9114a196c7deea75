import * as z from 'zod'
import { unknownName } from './problems.ts'
import { asGroup, asList, isGroup, type Report, related, type Unchecked } from './relations.ts'
import { oneOrMany, text } from './values.ts'

const NAME = /^[A-Za-z0-9_-]{1,64}$/

const accountPattern = () =>
  text(/^[^\s\p{Cc}]+$/u, 'must be text without spaces; * matches any text').meta({
    type: ['string', 'integer'],
    description: 'A hub id, or a domain in which * matches any text.',
  })

/** Which accounts are meant: the part of a `match` that is the same everywhere. */
export const accountMatch = () => ({
  account: oneOrMany(accountPattern()).exactOptional().describe('Hub ids, or domains in which * matches any text.'),
  tag: oneOrMany(text()).exactOptional().describe('Names from `tags`: the account carries one of them.'),
})

export const tags = related(
  z.record(z.string(), z.array(accountPattern()).describe('Hub ids, or domains in which * matches any text.')),
  (given, report) => {
    for (const name of Object.keys(given).filter((one) => !NAME.test(one))) {
      report([name], "a tag's name is made of letters, digits, _ and -")
    }
  },
).meta({ propertyNames: { pattern: NAME.source } })

/** Tags that a `match` of the file names and that it does not define. */
export function checkTagNames(given: Unchecked, report: Report): void {
  // Where `tags` itself is wrong, that is what has to be fixed.
  if (!isGroup(given.tags)) return
  const known = Object.keys(given.tags)
  const lists = {
    thresholds: { path: ['thresholds'], items: asList(given.thresholds) },
    overrides: { path: ['limits', 'accounts'], items: asList(asGroup(given.limits).accounts) },
    routes: { path: ['routes'], items: asList(given.routes) },
  }
  for (const { path, items } of Object.values(lists)) {
    for (const [index, item] of items.entries()) {
      for (const [position, name] of asList(asGroup(asGroup(item).match).tag).entries()) {
        if (typeof name !== 'string' || known.includes(name)) continue
        report([...path, index, 'match', 'tag', position], unknownName(name, known, 'no tag has this name'))
      }
    }
  }
}
