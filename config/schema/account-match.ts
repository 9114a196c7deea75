import * as z from 'zod'
import { byName, oneOrMany, plainText } from './values.ts'

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

export const tags = byName(
  "a tag's name",
  z.array(accountPattern()).describe('Hub ids, or domains in which * matches any text.'),
)
