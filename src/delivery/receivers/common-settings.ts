import * as z from 'zod'
import { checkPlainHttp, secretAddress } from '../../../config/schema/secrets.ts'
import { reason, related, timeOfDay, timeZone, toggle, type Unchecked, weekday } from '../../../config/schema/values.ts'
import { faultOfTemplate } from '../templates/check-template.ts'

export const digest = () =>
  related(
    z.strictObject({
      every: z.enum(['day', 'week']).prefault('day').describe('How often.'),
      at: timeOfDay().prefault('08:00').describe('When, by the clock in `timeZone`.'),
      on: weekday().exactOptional().describe('The day of a weekly one. Default: mon.'),
      timeZone: timeZone().exactOptional().describe('Like Europe/Berlin. Default: http.timeZone.'),
    }),
    ({ every, on }, report) => {
      if (on !== undefined && every !== 'week') report(['on'], 'has a meaning only with every: week')
    },
  ).describe('One message every day or week with all open alerts that routes send here, also when there are none.')

/** The address to post to: often a secret, since knowing it is enough to post there. */
export const postAddress = () =>
  secretAddress(['https', 'http'], ({ username, password }) =>
    username === '' && password === '' ? undefined : 'must be an address without user and password',
  )

export const insecureHttp = () => toggle().prefault(false).describe('Allows http://, for servers in your own network.')

/** Settings of every service that is sent a message as one body. */
export const messageSettings = () => ({
  template: templates('title', 'body'),
  digest: digest().exactOptional(),
  insecure: insecureHttp(),
})

/** Settings of a service that is posted to: `url` may be http:// only where that is allowed. */
export function posted<Schema extends z.ZodType>(schema: Schema, also?: (given: Unchecked, report: Report) => void) {
  return related(schema, (given, report) => {
    also?.(given, report)
    checkPlainHttp(given, ['url'], report)
  })
}

type Report = Parameters<Parameters<typeof related>[1]>[1]

/** Texts of messages in words of one's own: each a template, checked with messages of every kind. */
export function templates<Name extends keyof typeof TEXTS>(...names: Name[]) {
  const texts = Object.fromEntries(names.map((name) => [name, templateText().describe(TEXTS[name]).exactOptional()]))
  return z
    .strictObject(texts as Record<Name, ReturnType<typeof optionalText>>)
    .exactOptional()
    .describe(TEMPLATES)
}

const TEMPLATES =
  'Texts of your own, as Liquid templates: [what they may name](#template-fields). What is left out is as without a template.'

const TEXTS = {
  subject: 'The subject.',
  title: 'The title, one line.',
  body: 'All below it, in place of it.',
}

const optionalText = () => templateText().exactOptional()

/** Fault of a template that came from outside the file, without a quote of it. */
const NOT_QUOTED = { unquoted: 'is no template that can be used' }

function templateText() {
  return z.string(reason('must be text')).superRefine((source, context) => {
    const message = faultOfTemplate(source)
    if (message !== undefined) context.addIssue({ code: 'custom', message, params: NOT_QUOTED })
  })
}
