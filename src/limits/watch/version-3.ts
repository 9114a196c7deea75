import * as z from 'zod'
import type { StoredBucketUse } from '../../provider/bucket-use.ts'
import type { ReportGaps } from '../../provider/read.ts'
import { LAST_MOMENT } from '../../runtime/moment.ts'
import { UnreadableBytes } from '../history/packed-bytes.ts'
import type { PollTurn } from '../polling/poll-turn.ts'
import { NEW_WATCH, type Watch } from './watch.ts'

/** In the place of a checksum: fields of the account's record, as format 3 of the data has them, one by one, moved here by `moveWatch`. */
export const VERSION_3 = 'version3'

const schema = z.object({ fields: z.record(z.string(), z.string()) })

/** @throws UnreadableBytes */
export function watchOfVersion3(line: string): Watch {
  let fields: Readonly<Record<string, string>>
  try {
    fields = schema.parse(JSON.parse(line)).fields
  } catch (error) {
    throw new UnreadableBytes(error instanceof Error ? error.message : String(error))
  }
  const number = (name: string) => {
    const value = Number(fields[name] ?? 0)
    // A field that is no number is lost alone.
    return Number.isFinite(value) && Math.abs(value) <= LAST_MOMENT ? value : 0
  }
  const text = (name: string) => fields[name] ?? ''
  const until = number('recordsUntil')
  return {
    ...NEW_WATCH,
    ...{ polledAt: number('polledAt'), changedAt: number('changedAt'), typesLeftOut: number('typesLeftOut') },
    turn: decodeTurn(text('pollBecause')),
    failing:
      text('pollFailureAt') === ''
        ? undefined
        : {
            ...{ count: number('pollFailures'), reason: text('pollFailureReason'), at: number('pollFailureAt') },
            since: number('pollFailingSince') || number('pollFailureAt'),
          },
    blocked:
      text('pollBlockedSince') === ''
        ? undefined
        : {
            ...{ what: text('pollBlocked') === 'all' ? 'all' : 'part', since: number('pollBlockedSince') },
            scopes: text('pollBlockedScopes')
              .split(' ')
              .filter((scope) => scope !== ''),
          },
    gaps: decodeGaps(text('gaps')),
    notAvailable: decodeNotAvailable(text('notAvailable')),
    companionsAwayUntil: number('companionsAwayUntil'),
    allPairsRead: text('pairsSeen') === '1',
    disagreed: text('disagreed') === '1',
    bucket: decodeBucketUse(text('bucket')),
    // Version 3 had one fingerprint for all answers.
    seen: undefined,
    // Version 3 did not have it.
    hasAlerts: true,
    records: until === 0 ? undefined : { readAt: number('recordsReadAt'), until },
  }
}

const moment = z.number().min(-LAST_MOMENT).max(LAST_MOMENT)
const level = z.enum(['warning', 'critical'])
const near = z.strictObject({
  ...{ is: z.literal('near'), series: z.string(), usage: z.number(), limit: z.number().nullable(), level },
  ...{ move: z.enum(['enter', 'leave']), asks: z.enum(['percent', 'count', 'remaining']) },
  ...{ of: z.number(), since: moment },
})
const rising = z.strictObject({
  ...{ is: z.literal('rising'), series: z.string(), days: z.number().nonnegative() },
  to: z.enum([...level.options, 'limit']),
})
const wish = z.discriminatedUnion('is', [
  near,
  rising,
  z.strictObject({ is: z.literal('changed'), at: moment }),
  z.strictObject({ is: z.enum(['new', 'still', 'failed', 'told']) }),
])
const because = z.discriminatedUnion('is', [
  ...wish.options,
  z.strictObject({ is: z.literal('budget'), instead: wish }),
])
const storedTurn = z.tuple([moment, z.number().min(0).max(1), because])

/** Undefined for what is none: the account then has its turn when it is due. */
function decodeTurn(text: string): PollTurn | undefined {
  try {
    const [regularAt, urgency, why] = storedTurn.parse(JSON.parse(text))
    return { regularAt, urgency, because: why }
  } catch {
    return undefined
  }
}

/** `REFUSED USED/OF/INTERVAL/AT`, the latter where it was seen. */
function decodeBucketUse(stored: string): StoredBucketUse | undefined {
  const [, refused, ...seen] = /^(\d{1,16})(?: (\d{1,16})\/(\d{1,16})\/(\d{1,16})\/(\d{1,16}))?$/.exec(stored) ?? []
  if (refused === undefined) return undefined
  const [used, of, intervalMs, at] = seen.map(Number)
  if (seen[0] === undefined) return { refused: Number(refused) }
  return { lastSeen: { used, of, intervalMs, at } as StoredBucketUse['lastSeen'] & object, refused: Number(refused) }
}

/** `pipelines:1763719200000`, one after the other. What is none is left out: the report is asked for then. */
function decodeNotAvailable(text: string): Record<string, number> {
  const each = text.split(' ').map((one) => /^(\w{1,40}):(\d{1,16})$/.exec(one))
  return Object.fromEntries(each.flatMap((one) => (one === null ? [] : [[one[1] ?? '', Number(one[2])]])))
}

const gapsSchema = z.record(z.string(), z.array(z.string()))

/** None for what is none. */
function decodeGaps(text: string): ReportGaps {
  try {
    return text === '' ? {} : gapsSchema.parse(JSON.parse(text))
  } catch {
    return {}
  }
}
