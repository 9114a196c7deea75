import * as z from 'zod'
import { Secret } from '../src/runtime/secret.ts'
import { isPlainHttpElsewhere } from './addresses.ts'
import { related } from './relations.ts'
import { duration, secretAddress, share, toggle } from './values.ts'

export const heartbeat = related(
  z.strictObject({
    url: secretAddress(['https', 'http'], ({ username, password, hash }) => {
      if (username !== '' || password !== '') return 'must be an address without user and password'
      return hash === '' ? undefined : 'must be an address without #'
    }).describe(
      'The address that gets a ping while all is within bounds: a POST to it, or to it + /fail with the reasons, as Healthchecks takes them.',
    ),
    every: duration({ min: '30s', max: '1h' })
      .prefault('1m')
      .describe(
        'How often, by one daemon for all. The service should expect it so often, and allow a few more minutes.',
      ),
    tokens: share({ most: 100 })
      .prefault('95%')
      .describe('Share of the accounts whose tokens must be refreshed in time; beside it limits.coverage counts.'),
    overdueRefresh: duration({ min: '10s', max: '1d' })
      .prefault('5m')
      .describe('How long a refresh may be due, and the token endpoint be in trouble.'),
    outboxAge: duration({ min: '1m', max: '3d' })
      .prefault('15m')
      .describe(
        'How long an alert may be on its way: in the outbox, in a group that is due, at a receiver that does not take it.',
      ),
    insecure: toggle().prefault(false).describe('Allows http://, for servers in your own network.'),
  }),
  ({ url, insecure }, report) => {
    if (!(url instanceof Secret) || insecure === true || !isPlainHttpElsewhere(url.reveal())) return
    report(['url'], 'must start with https:// (http:// needs insecure: true, or a host that is this machine)')
  },
).describe(
  'Pings a service outside as long as Plimsoll does its work. When the pings stop, that service raises the alarm.',
)
