import * as z from 'zod'
import { RECEIVER_SETTINGS } from '../../src/delivery/receivers/all-receivers.ts'
import { related } from './values.ts'

const NAME = /^[A-Za-z0-9_-]{1,64}$/

export const receivers = related(
  z.record(z.string(), z.discriminatedUnion('type', RECEIVER_SETTINGS)),
  (receivers, report) => {
    const names = Object.keys(receivers)
    if (names.length === 0) report([], 'must have at least one receiver')
    for (const name of names.filter((one) => !NAME.test(one)))
      report([name], "a receiver's name is made of letters, digits, _ and -")
  },
).meta({ minProperties: 1, propertyNames: { pattern: NAME.source } })
