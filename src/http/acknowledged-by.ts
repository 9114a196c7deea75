import * as z from 'zod'
import { cleanText } from '../text/clean-text.ts'

/** What is left empty is not said, and neither is what nobody could see. */
const said = (most: number) =>
  z
    .string('must be a text')
    .trim()
    .max(most, `is longer than ${most} characters`)
    .transform((given) => cleanText(given, most) || undefined)
    .optional()

/** Who acknowledges an alert, and what they say; the API and the form ask the same. */
export const ACKNOWLEDGED_BY = {
  by: said(100).describe('By whom; default: the name of the admin token.'),
  comment: said(500).describe('What is being done.'),
}
