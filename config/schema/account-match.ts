import * as z from 'zod'
import { oneOrMany, plainText, related } from './values.ts'

const NAME = /^[A-Za-z0-9_-]{1,64}$/

const accountPattern = () =>
  plainText(/^[^\s\p{Cc}]+$/u, 'must be text without spaces; * matches any text').meta({
    type: ['string', 'integer'],
    description: 'A hub id, or a domain in which * matches any text.',
  })

/** Which accounts are meant: the part of a `match` that is the same everywhere. */
export const accountMatch = () => ({
  account: oneOrMany(accountPattern()).exactOptional().describe('Hub ids, or domains in which * matches any text.'),
  tag: oneOrMany(plainText()).exactOptional().describe('Names from `tags`: the account carries one of them.'),
})

export const tags = related(
  z.record(z.string(), z.array(accountPattern()).describe('Hub ids, or domains in which * matches any text.')),
  (given, report) => {
    for (const name of Object.keys(given).filter((one) => !NAME.test(one))) {
      report([name], "a tag's name is made of letters, digits, _ and -")
    }
  },
).meta({ propertyNames: { pattern: NAME.source } })
