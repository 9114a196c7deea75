import * as z from 'zod'
import { count, momentOrNull, shape, text } from './words.ts'

const scopes = z.array(z.enum(['read', 'tokens', 'write', 'audit'])).describe('Its scopes.')

export const AdminTokenShape = shape('AdminToken', 'A named admin token; the token itself is kept nowhere.', {
  name: text('Its name.'),
  scopes,
  createdAt: momentOrNull('When it was made.'),
  lastUsedAt: momentOrNull('When it was used last.'),
  ignored: z.boolean().describe('True where it opens nothing, because no key of this installation sealed it.'),
})

export type AdminTokenShape = z.infer<typeof AdminTokenShape>

export const NewAdminTokenShape = shape('NewAdminToken', 'An admin token that was just made.', {
  name: text('Its name.'),
  scopes,
  token: text('The token, this once.'),
})

export const RemovedAdminTokenShape = shape('RemovedAdminToken', 'An admin token that was ended.', {
  name: text('Its name.'),
  outcome: z.literal('removed'),
})

export const RekeyedShape = shape('Rekeyed', 'Outcome of encrypting all stored tokens again.', {
  outcome: z
    .enum(['clean', 'writing', 'stopped'])
    .describe('`writing`: a daemon or a command still writes with another key; `stopped`: it was stopped.'),
  key: text('The key that everything is to be under.'),
  accounts: count('Checked.'),
  replaced: count('Values that were encrypted with the first key.'),
  unopened: z
    .array(z.object({ hubId: z.int(), fields: z.array(z.string()), reason: z.string() }))
    .describe('Accounts with values that no configured key opens, or whose tokens can not be read.'),
  removable: z.array(z.string()).describe('Configured keys that nothing is encrypted with any more.'),
  needed: z
    .array(z.object({ daemon: z.string(), key: z.string() }))
    .describe('Keys that new tokens in the data folder of a daemon are under still: they are kept.'),
  writingKeys: z.array(z.string()).exactOptional().describe('With `writing`: with which keys.'),
  writers: z
    .array(z.object({ daemon: z.string(), keyId: z.string() }))
    .exactOptional()
    .describe('With `writing`: who, where that is known.'),
})

export type RekeyedShape = z.infer<typeof RekeyedShape>

export const AnyObjectShape = z
  .looseObject({})
  .meta({ id: 'AnyObject', description: 'An object whose fields another schema describes.' })

export const DemoFactsShape = shape('DemoFacts', 'Facts of a run of the demo.', {
  accounts: count('Connected.'),
  refreshes: count('Refreshes that worked.'),
  refreshesPerAccountAtLeast: count('Number of the account with the fewest.'),
  polls: count('Polls that worked.'),
  pollsPerAccountAtLeast: count('Number of the account with the fewest.'),
  emails: count('That arrived.'),
  webhooks: count('That arrived.'),
  uninstalls: count('Accounts that left.'),
  tokensExpired: count('Tokens that were used or held after their end: 0.'),
})

/** Facts of a demo run, counted where its requests arrive: at the sandbox. */
export type DemoFacts = z.infer<typeof DemoFactsShape>
