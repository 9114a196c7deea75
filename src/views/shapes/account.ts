import * as z from 'zod'
import { OpenAlertShape } from './alert.ts'
import { NotifiedShape } from './rules.ts'
import { SeriesShape } from './series.ts'
import { AccountNameShape, count, isoMoment, momentOrNull, objectOrNull, outsideText, shape, text } from './words.ts'

export const AccountShape = shape('Account', 'One account, without its tokens.', {
  ...AccountNameShape,
  user: outsideText('The installer of the app, as the provider names them.').nullable(),
  contact: text('The e-mail address that messages for its customer go to; null: it has none.').nullable(),
  connectedAt: momentOrNull('When it was connected last.'),
  firstConnectedAt: momentOrNull('When it was connected first.'),
  token: z
    .object({
      obtainedAt: momentOrNull('When the current access token was issued.'),
      expiresAt: momentOrNull('When it ends.'),
      refreshedAt: momentOrNull('When a refresh worked last.'),
      nextRefreshAt: momentOrNull('When the next refresh is due.'),
      driftMs: z
        .number()
        .nullable()
        .describe("By how many milliseconds the provider's own count of its life differs; null: it agrees."),
    })
    .describe('The access token, without the token itself.'),
  refreshFailure: objectOrNull('Null: the last refresh worked.', {
    count: count('Refreshes that failed in a row.'),
    class: text('The kind of failure.'),
    reason: outsideText("The provider's answer."),
    at: momentOrNull('The last one.'),
    since: momentOrNull('The first one.'),
  }),
  refusedSince: momentOrNull('Start of the refusal of the refresh token.'),
  parkedUntil: momentOrNull('The provider asked for a pause until then.'),
  tokenServedAt: momentOrNull('When an access token was last handed out.'),
  tokenServedTo: text('To which admin token.').nullable(),
  polledAt: momentOrNull('When its limits were last read.'),
  nextPollAt: momentOrNull('When they are read next.'),
  nextPollBecause: outsideText('Why then, for people.').nullable(),
  pollFailure: objectOrNull('Null: the last poll read all.', {
    count: count('Polls that failed in a row, wholly or in part.'),
    reason: outsideText('The cause.'),
    at: momentOrNull('The last one.'),
    since: momentOrNull('The first one.'),
    partly: z.optional(
      z.strictObject({
        unread: z.array(z.string()).describe('Limits reports that could not be read.'),
        read: z.array(z.string()).describe('Limits reports that were read; one of many pairs may be in both.'),
      }),
    ),
  }),
  watch: objectOrNull('Why its limits are not read; null: no known reason.', {
    is: z.enum(['cannot be watched', 'cannot be watched in part']),
    because: z.literal('scope missing'),
    since: momentOrNull('The start.'),
    scopes: z.array(z.string()).describe('Scopes that the provider asks for, which may be wrong.'),
  }),
  objectTypesLeftOut: count(
    'Object types in its last report that are not watched: more than 500, or ids that are too long.',
  ),
  notAvailable: z
    .array(z.string())
    .describe('Limits reports that its plan, or its permissions, do not have: asked for again once a day.'),
  apiCalls: objectOrNull("Calls of the provider's rate limit for it; null: nothing was seen.", {
    lastSeen: objectOrNull('By the last answer that had the headers, of any of the polls; null: none had.', {
      used: count('Used in that moment, by all of the app: not the most there were.'),
      of: count('How many there may be.'),
      perMs: count('In so many milliseconds.'),
      at: momentOrNull('When the poll began that saw it.'),
    }),
    refused: count('Calls that were refused with 429 since the poll before.'),
  }),
  gaps: z
    .array(z.string())
    .describe('Parts of its last reports that could not be read, with what is wrong with them; all else was read.'),
  uninstall: objectOrNull('Null: it was not requested.', {
    askedAt: momentOrNull('When it was asked for.'),
    reason: outsideText('Why.'),
    by: z.enum(['cli', 'api', 'evidence']).describe('`evidence`: its refresh token was refused for too long.'),
    attempts: count('Attempts to delete the refresh token so far.'),
    failure: outsideText('Why the last one failed.').nullable(),
    failureAt: momentOrNull('When that was.'),
    nextAttemptAt: momentOrNull('When it is tried next.'),
    at: momentOrNull('When the refresh token was deleted.'),
    ending: z.enum(['deleted', 'was-gone']).nullable().describe('The provider deleted it, or no longer knew it.'),
    purgeAt: momentOrNull('When the account is forgotten.'),
  }),
})
export type AccountShape = z.infer<typeof AccountShape>

/** The gravest first. */
export const VERDICT_LEVELS = ['critical', 'warning', 'unknown', 'handled', 'ok', 'none'] as const
export type VerdictLevel = (typeof VERDICT_LEVELS)[number]

const verdictLevel = z
  .enum(VERDICT_LEVELS)
  .describe('`handled`: its open alerts are all acknowledged or silenced; `none`: nothing of it is watched.')

export const ListedAccountShape = shape('ListedAccount', 'One account of a list. No token is among it.', {
  ...AccountShape.shape,
  level: verdictLevel,
  openAlerts: z
    .object({
      critical: count('Neither acknowledged nor silenced.'),
      warning: count('The same at warning.'),
      handled: count('Acknowledged or silenced, of both levels.'),
    })
    .describe('Its open alerts.'),
  trouble: outsideText('Trouble with its tokens or polls, in a few words; empty: none is known.'),
})
export type ListedAccountShape = z.infer<typeof ListedAccountShape>

export const StoryEventShape = shape('StoryEvent', "One thing in an account's life.", {
  at: isoMoment('When it happened, or will.'),
  event: text('The event, for people.'),
  detail: outsideText('More about it.').exactOptional(),
})
export type StoryEventShape = z.infer<typeof StoryEventShape>

export const AccountDetailsShape = shape('AccountDetails', 'Everything there is to show about one account.', {
  ...AccountShape.shape,
  verdict: z
    .object({
      level: verdictLevel,
      findings: z.array(
        z.object({
          about: z.enum(['tokens', 'limits', 'alerts', 'uninstall']),
          level: verdictLevel,
          says: outsideText('For people.'),
        }),
      ),
    })
    .describe('How the account is: the worst of what is found.'),
  scopes: z.array(z.string()).describe('Scopes that the customer granted.'),
  series: z.array(SeriesShape).describe('As last read.'),
  alerts: z.array(OpenAlertShape).describe('Open now, worst first.'),
  story: z.array(StoryEventShape).describe('In order of time.'),
  notified: z
    .array(NotifiedShape)
    .describe('Receivers of its alerts by level, critical first, by the routes in force.'),
})
export type AccountDetailsShape = z.infer<typeof AccountDetailsShape>

export const ConnectedShape = shape('Connected', 'An account that was taken over.', {
  ...AccountNameShape,
  scopes: z.array(z.string()).describe('Scopes that the customer granted.'),
  outcome: z.enum(['connected', 'reconnected']).describe('`reconnected`: it was known before.'),
})

export const PolledShape = shape('Polled', 'Outcome of reading the limits of an account now.', {
  ...AccountNameShape,
  state: AccountNameShape.state.nullable().describe('Null for an account that is not known.'),
  outcome: z.enum(['read', 'failed']).describe('`failed`: it was not read, or not all of it.'),
  reason: outsideText('Why not; null where all was read.').nullable(),
  polledAt: momentOrNull('When its limits were last read.'),
})
export type PolledShape = z.infer<typeof PolledShape>

export const RefreshedShape = shape('Refreshed', 'An account whose tokens were just refreshed.', {
  ...AccountNameShape,
  outcome: z.literal('refreshed'),
  expiresAt: momentOrNull('When its access token ends.'),
})
export type RefreshedShape = z.infer<typeof RefreshedShape>

export const ReconnectLinkShape = shape('ReconnectLink', 'A signed link that connects one account and no other.', {
  hubId: AccountNameShape.hubId,
  url: text('The link for the customer.'),
  expiresAt: isoMoment('End of the link.'),
})

export const ReconnectMailShape = shape('ReconnectMail', 'A mail on its way that asks a customer to connect again.', {
  hubId: AccountNameShape.hubId,
  to: text('Address of the customer.'),
})
export type ReconnectMailShape = z.infer<typeof ReconnectMailShape>

export const ContactShape = shape('Contact', "An account's own contact.", {
  hubId: AccountNameShape.hubId,
  contact: AccountShape.shape.contact,
})
export type ContactShape = z.infer<typeof ContactShape>

export const UninstallShape = shape('Uninstalling', 'An account that is being uninstalled, or was.', {
  hubId: AccountNameShape.hubId,
  state: AccountNameShape.state,
  outcome: z
    .enum(['begun', 'already', 'deleted', 'was-gone', 'forgotten'])
    .describe(
      '`begun`: the daemon deletes the refresh token; `already`: it was asked for before. With --wait how it ended: ' +
        'the provider deleted it, no longer knew it, or it is not known.',
    ),
  deletedAt: momentOrNull('With --wait: when the refresh token was deleted.').exactOptional(),
  purgeAt: momentOrNull('With --wait: when the account is forgotten.').exactOptional(),
})
export type UninstallShape = z.infer<typeof UninstallShape>

export const ImportedShape = shape('Imported', 'Outcome of importing a file of accounts.', {
  imported: count('New accounts.'),
  kept: count('Known already and left as they were.'),
  keptUninstalled: count('Unchanged accounts that are uninstalled or being uninstalled.'),
  replaced: count('Known already and overwritten.'),
  bad: count('Lines that are no account.'),
  stopped: z.boolean().describe('The import was stopped before the end of the file.'),
  badLines: z
    .array(z.object({ line: z.int().describe('Line number in the file, from 1.'), problem: outsideText('Why.') }))
    .describe('The first 50 of them.'),
})

export const AccessTokenShape = shape('AccessToken', 'A valid access token of one account.', {
  accessToken: text('The token: keep it nowhere.'),
  expiresAt: isoMoment('When it ends.'),
  expiresIn: count('Until then, in whole seconds.'),
  scopes: z.array(z.string()).describe('Scopes that the customer granted.'),
})
export type AccessTokenShape = z.infer<typeof AccessTokenShape>
