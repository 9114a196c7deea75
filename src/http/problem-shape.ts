import * as z from 'zod'

/** A problem with a request, in the form that every address under /api answers with (RFC 9457, `application/problem+json`). */
export const ProblemShape = z
  .object({
    type: z.string().meta({
      description: 'What kind of problem it is; never changes, for programs to decide by.',
      examples: ['urn:plimsoll:problem:not-found'],
    }),
    title: z.string().describe('Of the status.'),
    status: z.int().describe('The same as that of the answer.'),
    detail: z.string().describe('What is wrong and what to do, for people; its words may change.'),
    errors: z
      .array(
        z.object({
          parameter: z.string().describe('Of the query, or a field of the body such as `matchers.0`.'),
          detail: z.string().describe('What is wrong with it.'),
        }),
      )
      .exactOptional()
      .describe('Of 400: each thing that is wrong.'),
    hint: z.string().exactOptional().describe('What to do about it at a command line.'),
  })
  .meta({ id: 'Problem', description: 'What is wrong with a request (RFC 9457).' })
export type ProblemShape = z.infer<typeof ProblemShape>
