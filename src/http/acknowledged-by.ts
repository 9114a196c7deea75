import * as z from 'zod'
import { cleanText } from '../text/clean-text.ts'

/** Empty text counts as absent, and so does invisible text. */
const said = (most: number) =>
  z
    .string('must be a text')
    .trim()
    .max(most, `is longer than ${most} characters`)
    .transform((given) => cleanText(given, most) || undefined)
    .optional()

/** The author and comment of an acknowledgement, for the API and the form. */
export const ACKNOWLEDGED_BY = {
  by: said(100).describe('By whom; default: the name of the admin token.'),
  comment: said(500).describe('What is being done.'),
}
