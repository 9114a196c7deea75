import * as z from 'zod'
import { ACCOUNT_STATES } from '../../redis/keys.ts'

/** A moment as all programs are given it. */
export function isoMoment(description: string) {
  return z.string().meta({ format: 'date-time', description: `${description} ISO 8601, UTC.`, examples: [EXAMPLE] })
}

const EXAMPLE = '2026-11-21T10:00:00.000Z'

/** A moment that need not have come; null = never, or not known. */
export function momentOrNull(description: string) {
  return z
    .string()
    .meta({ format: 'date-time' })
    .nullable()
    .meta({ description: `${description} ISO 8601, UTC.` })
}

export function text(description: string) {
  return z.string().describe(description)
}

/** A text from outside: the code that shows it makes it harmless first. */
export function outsideText(description: string) {
  return text(`${description} A stranger's words: escape them wherever they are shown.`)
}

/** How many, from 0 on. */
export function count(description: string) {
  return z.int().min(0).describe(description)
}

export const hubId = z
  .int()
  .positive()
  .meta({ description: "The account's id at the provider.", examples: [1234567] })
export const hubDomain = outsideText("The account's domain; empty where the provider does not send it.")
export const level = z.enum(['warning', 'critical'])
const accountState = z
  .enum(ACCOUNT_STATES)
  .describe(
    '`active`; `failing`: a refresh is late or was refused once; `parked`: the provider asked for a pause; `reauthorize`: ' +
      'the customer must connect again; `uninstalling`; `uninstalled`.',
  )

/** Fields that every object about an account has. */
export const AccountNameShape = { hubId, hubDomain, state: accountState }

/** An object that programs are given, by the name that its schema has. */
export function shape<F extends z.ZodRawShape>(id: string, description: string, fields: F) {
  return z.object(fields).meta({ id, description })
}

/** Null: the description says when. */
export function objectOrNull<F extends z.ZodRawShape>(description: string, fields: F) {
  return z.object(fields).nullable().describe(description)
}

/** A field that is left out where there is nothing to say. */
export function objectOrNone<F extends z.ZodRawShape>(description: string, fields: F) {
  return z.object(fields).exactOptional().describe(description)
}

/** A schema of zod, for rooms that only pass shapes on. */
export type Shape = z.ZodType

/** A whole list: the command line does not page. */
export function listOf<S extends Shape>(shape: S) {
  return z.array(shape)
}
