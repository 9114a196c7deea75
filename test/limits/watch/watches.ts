import fc from 'fast-check'
import type { PollTurn, TurnBecause } from '../../../src/limits/polling/poll-turn.ts'
import { NEW_WATCH, type Watch } from '../../../src/limits/watch/watch.ts'

const AT = 1_763_719_200_000
const moment = fc.nat(AT)
const number = fc.integer({ min: 1, max: 100_000_000 }).map((n) => n / 100)
const text = fc.string({ unit: 'binary' })
const maybe = <T>(one: fc.Arbitrary<T>) => fc.option(one, { nil: undefined })

const near = fc.record({
  is: fc.constant('near' as const),
  series: text,
  usage: fc.nat(),
  limit: fc.option(fc.nat(), { nil: null }),
  level: fc.constantFrom('warning' as const, 'critical' as const),
  move: fc.constantFrom('enter' as const, 'leave' as const),
  asks: fc.constantFrom('percent' as const, 'count' as const, 'remaining' as const),
  of: number,
})
const because: fc.Arbitrary<TurnBecause> = fc.oneof(
  near,
  fc.constantFrom('new' as const, 'still' as const, 'failed' as const, 'told' as const).map((is) => ({ is })),
)

/** Any turn, as a watch has it. */
export const turns: fc.Arbitrary<PollTurn> = fc
  .tuple(moment, because)
  .map(([regularAt, why]) => ({ regularAt, because: why }))

const bucket = fc.oneof(
  fc.record({ refused: fc.nat() }),
  fc.record({
    refused: fc.nat(),
    lastSeen: fc.record({ used: fc.nat(), of: fc.nat(), intervalMs: fc.nat(), at: moment }),
  }),
)

/** Any watch, the one of an account that was never polled among them. */
export const watches: fc.Arbitrary<Watch> = fc.oneof(
  { weight: 1, arbitrary: fc.constant(NEW_WATCH) },
  {
    weight: 20,
    arbitrary: fc.record({
      polledAt: moment,
      changedAt: moment,
      turn: maybe(turns),
      failing: maybe(fc.record({ count: fc.nat(), reason: text, at: moment, since: moment })),
      blocked: maybe(
        fc.record({ what: fc.constantFrom('all' as const, 'part' as const), since: moment, scopes: fc.array(text) }),
      ),
      typesLeftOut: fc.nat(),
      gaps: fc.dictionary(text, fc.array(text), { maxKeys: 3, noNullPrototype: true }),
      notAvailable: fc.dictionary(text, moment, { maxKeys: 3, noNullPrototype: true }),
      unconfirmed: fc.dictionary(text, fc.record({ polls: fc.nat(), at: moment }), {
        maxKeys: 3,
        noNullPrototype: true,
      }),
      companionsAwayUntil: moment,
      allPairsRead: fc.boolean(),
      disagreed: fc.boolean(),
      bucket: maybe(bucket),
      seen: maybe(fc.record({ answers: text, said: text, records: text, judged: text })),
      hasAlerts: fc.boolean(),
      records: maybe(fc.record({ readAt: moment, until: moment })),
      calls: maybe(fc.array(fc.tuple(moment, fc.nat()), { maxLength: 3 })),
    }),
  },
)

/** What is kept of numbers: any bytes but none. */
export const packedReadings = fc.option(
  fc.uint8Array({ minLength: 1, maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  { nil: undefined },
)
