import * as z from 'zod'
import { asGroup } from './relations.ts'
import { objectTypeId } from './values.ts'

/** Ordered pairs of object types whose association limits are polled. */
export const associationPairs = z
  .array(
    z.strictObject({
      from: objectTypeId().describe('objectTypeId that the association starts from.'),
      to: objectTypeId().describe('objectTypeId that it leads to.'),
    }),
    {
      error: ({ input }) =>
        input === 'auto' ? 'auto is not available in this version: list the pairs' : 'must be a list of { from, to }',
    },
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
