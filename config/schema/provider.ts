import * as z from 'zod'
import { DIALECT_NAMES } from '../../src/provider/dialects.ts'
import { checkPlainHttp, secret, webAddress } from './secrets.ts'
import { duration, oneOrMany, plainText, related, share, toggle, wholeNumber } from './values.ts'

const scope = () => plainText(/^[^\s,\p{Cc}]+$/u, 'must be the name of one scope, without spaces')

const failedCalls = related(
  z.strictObject({
    warning: share().prefault('3%').describe('From this share of failed calls on there is an alert at warning ...'),
    critical: share().prefault('5%').describe('... and from this on at critical, the most that the provider allows.'),
  }),
  ({ warning, critical }, report) => {
    if (typeof warning !== 'number' || typeof critical !== 'number' || warning < critical) return
    report(['warning'], 'must be less than critical')
  },
).describe("When failed calls are an alert: of all the app's calls in 30 days, if there were at least 500.")

export const provider = related(
  z.strictObject({
    api: z.enum(DIALECT_NAMES).prefault('2026-09').describe('API version; its end is named from 90 days before.'),
    baseUrl: webAddress().prefault('https://api.hubapi.com').describe("Address of the provider's API."),
    installUrl: webAddress({ strip: false })
      .prefault('https://app.hubspot.com/oauth/authorize')
      .describe('Page where customers install the app.'),
    clientId: plainText().describe("The app's client id."),
    clientSecret: oneOrMany(secret()).describe("The app's client secret; both, as a list, while it is being changed."),
    redirectUri: webAddress({ strip: false })
      .exactOptional()
      .describe('Redirect URL, as set for the app. Default: http.publicUrl + /oauth/callback.'),
    scopes: z
      .array(scope())
      .min(1, 'must have at least one scope')
      .prefault(['oauth'])
      .describe('Scopes an account must grant.'),
    optionalScopes: z.array(scope()).prefault([]).describe('Scopes an account may grant.'),
    marketplaceInstall: toggle().prefault(false).describe("Takes installs from the provider's marketplace."),
    timeout: duration({ min: '100ms', max: '120s' }).prefault('10s').describe('How long one call may take.'),
    connections: wholeNumber(4, 4_000).prefault(64).describe('Calls under way at a time, for each process.'),
    accountRate: z
      .strictObject({
        requests: wholeNumber(1, 10_000).prefault(20).describe('Calls for one account ...'),
        per: duration({ min: '100ms', max: '1h' }).prefault('10s').describe('... within this time.'),
      })
      .prefault({})
      .describe("Plimsoll's own share of one account's rate limit: a sliding window over all workers."),
    failedCalls: failedCalls.prefault({}),
    insecure: toggle().prefault(false).describe('Allows http:// for hosts other than this machine.'),
  }),
  (given, report) => checkPlainHttp(given, ['baseUrl', 'installUrl', 'redirectUri'], report, 'provider.'),
).describe('The CRM provider and the app that is installed in its accounts.')
