import * as z from 'zod'
import { RECEIVER_SETTINGS } from '../../src/delivery/receivers/all-receivers.ts'
import { byName, related } from './values.ts'

export const receivers = related(
  byName("a receiver's name", z.discriminatedUnion('type', RECEIVER_SETTINGS)),
  (given, report) => {
    if (Object.keys(given).length === 0) report([], 'must have at least one receiver')
  },
).meta({ minProperties: 1 })
