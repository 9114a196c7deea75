import * as z from 'zod'
import { LAST_MOMENT } from '../../runtime/moment.ts'

const moment = z.number().min(-LAST_MOMENT).max(LAST_MOMENT)
const level = z.enum(['warning', 'critical'])

/** A series is near the moment in which a level is entered or left. */
const near = z.strictObject({
  is: z.literal('near'),
  series: z.string(),
  usage: z.number(),
  limit: z.number().nullable(),
  level,
  move: z.enum(['enter', 'leave']),
  /** What the condition asks of the series, and the number where the level is entered or left. */
  asks: z.enum(['percent', 'count', 'remaining']),
  of: z.number(),
  /** Since when polls have found it there, ms. */
  since: moment,
})

/** At the pace of the last two readings a series reaches a level, or its limit, in so many days. */
const rising = z.strictObject({
  is: z.literal('rising'),
  series: z.string(),
  days: z.number().nonnegative(),
  to: z.enum([...level.options, 'limit']),
})

const wish = z.discriminatedUnion('is', [
  near,
  rising,
  /** The last change of its numbers. */
  z.strictObject({ is: z.literal('changed'), at: moment }),
  /**
   * - `new`: its first polls: it gets a phase of its own.
   * - `still`: its regular turn: nothing is near a threshold, rising or just changed, or that asks for none that comes sooner.
   * - `failed`: the last poll failed.
   * - `told`: the provider's answer named how long to wait.
   */
  z.strictObject({ is: z.enum(['new', 'still', 'failed', 'told']) }),
])

/** Why an account is polled next when it is. Times are ms since 1970, series by their id. */
const because = z.discriminatedUnion('is', [
  ...wish.options,
  /** The fleet's call budget had no room for it when it was due. */
  z.strictObject({ is: z.literal('budget'), instead: wish }),
])

/** The next poll of an account beside its moment, which is in the due set. */
export interface PollTurn {
  /** When its regular turn is, ms; before that a poll is an early one. */
  regularAt: number
  /** How urgent an early poll is, 0 to 1, in hundredths. */
  urgency: number
  because: TurnBecause
}

export type TurnLevel = z.infer<typeof level>
export type Near = z.infer<typeof near>
export type RisingSeries = z.infer<typeof rising>
export type TurnBecause = z.infer<typeof because>

/** A list: above 64 bytes Redis keeps the whole record of an account in a dearer form, and few turns are that long. */
const stored = z.tuple([moment, z.number().min(0).max(1), because])

export function encodeTurn({ regularAt, urgency, because }: PollTurn): string {
  return JSON.stringify([regularAt, Math.round(urgency * 100) / 100, because] satisfies z.infer<typeof stored>)
}

/** Undefined for what is none: the account then has its turn when it is due. */
export function decodeTurn(text: string | undefined): PollTurn | undefined {
  try {
    const [regularAt, urgency, because] = stored.parse(JSON.parse(text ?? ''))
    return { regularAt, urgency, because }
  } catch {
    return undefined
  }
}
