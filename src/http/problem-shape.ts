import * as z from 'zod'

/** A problem with a request, in the form that every address under /api answers with (RFC 9457, `application/problem+json`). */
export const ProblemShape = z
  .object({
    type: z.string().meta({
      description: 'Type of the problem, for programs; it never changes.',
      examples: ['urn:plimsoll:problem:not-found'],
    }),
    title: z.string().describe('Of the status.'),
    status: z.int().describe('The same as that of the answer.'),
    detail: z.string().describe('Problem and remedy, for people; the text may change.'),
    errors: z
      .array(
        z.object({
          parameter: z.string().describe('Parameter of the query, or a field of the body such as `matchers.0`.'),
          detail: z.string().describe('Problem of the parameter.'),
        }),
      )
      .exactOptional()
      .describe('With status 400: each wrong parameter or field.'),
    hint: z.string().exactOptional().describe('Remedy at the command line.'),
  })
  .meta({ id: 'Problem', description: 'Problem details of a request (RFC 9457).' })
export type ProblemShape = z.infer<typeof ProblemShape>
