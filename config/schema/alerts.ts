import * as z from 'zod'
import { amount, duration, wholeNumber } from './values.ts'

export const alerts = z
  .strictObject({
    recoverBelow: amount('must be from 0 to 100', 100)
      .prefault(3)
      .describe(
        'Percentage points inside a percent condition before a level is left, so that alerts do not flap. Other conditions: see `recoverBelow` of a rule in `thresholds`.',
      ),
    for: wholeNumber(0, 100)
      .prefault(0)
      .describe('Polls in a row that must agree before a level is entered; 0 and 1: at once.'),
    repeatEvery: duration({ min: '1s', max: '365d' }).prefault('24h').describe('How often a firing alert is repeated.'),
    worse: z
      .enum(['on', 'off'], 'must be on or off')
      .prefault('on')
      .describe(
        'on: what gets worse at its level - 5 percentage points, half of what remained, one more record at its limit - is ' +
          'sent again, at most once in `group.interval`. off: only a higher level is.',
      ),
    acknowledgeFor: duration({ min: '1m', max: '365d' })
      .prefault('7d')
      .describe('How long an acknowledged alert is not repeated, unless it gets worse.'),
    group: z
      .strictObject({
        by: z
          .array(z.enum(['rule', 'account', 'level', 'kind']))
          .prefault(['account'])
          .describe(
            'What alerts must have in common to share a message. By account alone: alerts of one rule that begin at five accounts or ' +
              'more within `wait` are one message by rule, and so are those that follow within `interval`, their repeats and ends, ' +
              'and five ends or more within `wait`.',
          ),
        wait: duration({ min: 0, max: '1h' }).prefault('30s').describe('How long a new group waits for more.'),
        interval: duration({ min: 0, max: '1d' })
          .prefault('5m')
          .describe('Least time between two messages of a group.'),
        max: wholeNumber(1, 10_000).prefault(200).describe('Most alerts in one message; it counts the rest.'),
      })
      .prefault({})
      .describe('How alerts are gathered into messages.'),
    firstRun: z
      .enum(['digest', 'alert'])
      .prefault('digest')
      .describe(
        "digest: what accounts' very first readings breach comes as one ranked message. alert: like any other.",
      ),
  })
  .describe('How a crossed threshold becomes a message.')
