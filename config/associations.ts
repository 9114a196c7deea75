import * as z from 'zod'
import { asGroup } from './relations.ts'
import { objectTypeId } from './values.ts'

const listedPairs = z
  .array(
    z.strictObject({
      from: objectTypeId().describe('objectTypeId that the association starts from.'),
      to: objectTypeId().describe('objectTypeId that it leads to.'),
    }),
    { error: () => 'must be auto, or a list of { from, to }' },
  )
  .superRefine(
    (pairs, context) => {
      const seen = new Set<string>()
      for (const [index, pair] of (Array.isArray(pairs) ? pairs : []).entries()) {
        const { from, to } = asGroup(pair)
        const key = `${String(from)} ${String(to)}`
        if (seen.has(key)) context.addIssue({ code: 'custom', path: [index], message: 'this pair is listed already' })
        seen.add(key)
      }
    },
    { when: () => true },
  )

/** Ordered pairs of object types whose association limits are polled, or `auto`: all of those that an account has. */
export const associationPairs = z.union([z.literal('auto'), listedPairs])
