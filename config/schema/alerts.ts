import * as z from 'zod'
import { amount, duration, wholeNumber } from './values.ts'

export const alerts = z
  .strictObject({
    recoverBelow: amount('must be from 0 to 100', 100)
      .prefault(3)
      .describe('Percentage points inside a percent condition before a level is left.'),
    for: wholeNumber(0, 100).prefault(0).describe('Polls in a row that must agree before a level is entered.'),
    repeatEvery: duration({ min: '1s', max: '365d' }).prefault('24h').describe('How often a firing alert is repeated.'),
    worse: z
      .enum(['on', 'off'], 'must be on or off')
      .prefault('on')
      .describe('on: what gets worse at its level is sent again. off: only a higher level is.'),
    acknowledgeFor: duration({ min: '1m', max: '365d' }).prefault('7d').describe('How long acknowledged alerts rest.'),
    group: z
      .strictObject({
        by: z
          .array(z.enum(['rule', 'account', 'level', 'kind']))
          .prefault(['account'])
          .describe('Common fields of one message. Five or more accounts under one rule are one message.'),
        wait: duration({ min: 0, max: '1h' }).prefault('30s').describe('How long a new group waits for more.'),
        interval: duration({ min: 0, max: '1d' }).prefault('5m').describe('Least time between two messages.'),
        max: wholeNumber(1, 10_000).prefault(200).describe('Most alerts in one message; it counts the rest.'),
      })
      .prefault({})
      .describe('How alerts are gathered into messages.'),
    firstRun: z
      .enum(['digest', 'alert'])
      .prefault('digest')
      .describe('digest: what the very first readings breach comes as one ranked message. alert: like any other.'),
  })
  .describe('How a crossed threshold becomes a message.')
