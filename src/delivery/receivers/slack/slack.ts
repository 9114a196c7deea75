import * as z from 'zod'
import { escapeMarkup } from '../../templates/own-links.ts'
import { createBodyReceiver } from '../body-receiver.ts'
import { messageSettings, postAddress, posted } from '../common-settings.ts'
import { createPost, postWayOut, readService } from '../http-post.ts'
import { reachAddress } from '../reach-address.ts'
import type { ReceiverKind, SettingsOf } from '../receiver-kind.ts'
import { escaped, MOST_TEXT, slackBody } from './slack-body.ts'

const slackSettings = posted(
  z.strictObject({
    type: z.literal('slack').describe('A message per group of alerts, by an incoming webhook of Slack.'),
    url: postAddress().describe('The address of the incoming webhook.'),
    ...messageSettings(),
  }),
)

export const slack = {
  settings: slackSettings,
  create: ({ url, template }, context) =>
    createBodyReceiver(context, {
      type: 'slack',
      template,
      bodyOf: slackBody,
      post: createPost({ name: context.receiver, proxyFor: context.proxyFor, url }, readSlack),
      texts: { escapeField: (text) => escaped(escapeMarkup(context.home)(text)), mostBytes: MOST_TEXT },
    }),
  reach: reachAddress,
  wayOut: (place, answer) => postWayOut(place, answer),
} satisfies ReceiverKind<SettingsOf<typeof slackSettings>>

/** A hook that was taken away never comes back; its channel may. */
const GONE =
  /^(invalid_token|no_service(_id)?|no_active_hooks|no_team|team_disabled|action_prohibited|posting_to_general_channel_denied)$/

const readSlack = readService(
  { status: [400, 403], says: GONE, is: 'final' },
  { status: 404, is: 'final' },
  { status: 410, is: 'final' },
  { status: 400, says: /^[a-z]+(_[a-z]+)+$/, is: 'message' },
  { status: 413, is: 'message' },
)
