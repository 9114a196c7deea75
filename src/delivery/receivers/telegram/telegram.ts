import * as z from 'zod'
import { secret, webAddress } from '../../../../config/schema/secrets.ts'
import { plainText } from '../../../../config/schema/values.ts'
import type { Message } from '../../../alerts/alert.ts'
import { retryAfterMs } from '../../../runtime/retry-after.ts'
import { Secret } from '../../../runtime/secret.ts'
import { outlineText } from '../../describe/outline.ts'
import { subjectLine } from '../../describe/subject.ts'
import type { AttemptOutcome } from '../../receiver.ts'
import type { TemplateTexts } from '../../templates/message-template.ts'
import { createBodyReceiver } from '../body-receiver.ts'
import { messageSettings, posted } from '../common-settings.ts'
import { createPost, type PostAnswer, type Posted, postWayOut, readService } from '../http-post.ts'
import { reachAddress } from '../reach-address.ts'
import type { BodyContext, ReceiverKind, SettingsOf, ShownReceiver } from '../receiver-kind.ts'

const MOST_CHARACTERS = 4_096
/** Longest body by a template: a title goes before it. */
const MOST_OWN_BODY = 3_900

const telegramSettings = posted(
  z.strictObject({
    type: z.literal('telegram').describe('A message per group of alerts, by a bot of Telegram.'),
    botToken: secret().describe('The token of the bot, as @BotFather gives it.'),
    chat: plainText(
      /^(-?\d{1,20}|@\w{1,64})$/,
      'must be the number of a chat, or @ and the name of a channel',
    ).describe('The chat that the bot writes to: its number in quotes, or @name.'),
    url: webAddress().prefault('https://api.telegram.org').describe('The server of the Bot API.'),
    ...messageSettings(),
  }),
)

type TelegramSettings = SettingsOf<typeof telegramSettings>

export const telegram = {
  settings: telegramSettings,
  create: createTelegram,
  reach: reachAddress,
  wayOut: (place, answer) =>
    answer === 400 || answer === 403
      ? `check ${place}.chat: the bot must be in it`
      : postWayOut(place, answer, 'botToken'),
} satisfies ReceiverKind<TelegramSettings>

function createTelegram({ url, botToken, chat, template }: TelegramSettings, context: BodyContext): ShownReceiver {
  let current = chat
  let moved: string | undefined
  const judge = (answer: PostAnswer) => {
    moved = answerOf(answer.body).parameters?.migrate_to_chat_id?.toString() ?? moved
    return readTelegram(answer)
  }
  const bot = `bot${encodeURIComponent(botToken.reveal()).replaceAll('%3A', ':')}`
  const { post, ...asIs } = createPost(
    {
      name: context.receiver,
      proxyFor: context.proxyFor,
      url: new Secret(`${url}/${bot}/sendMessage`),
      repeated: [botToken],
    },
    judge,
  )

  async function follow(posted: Posted): Promise<AttemptOutcome> {
    const first = await post(posted)
    if (first.outcome === 'delivered' || moved === undefined || moved === current) return first
    current = moved
    const body = JSON.stringify({ ...JSON.parse(posted.body), chat_id: current })
    const second = await post({ ...posted, body })
    const detail = `the group is a supergroup now: set chat to "${moved}"`
    return second.outcome === 'delivered' ? { ...second, detail } : second
  }

  return createBodyReceiver(context, {
    type: 'telegram',
    template,
    post: { ...asIs, post: follow },
    texts: { mostBytes: MOST_OWN_BODY },
    bodyOf: (...shown) => telegramBody(current, ...shown),
  })
}

/** Without `parse_mode` Telegram reads no markup. */
function telegramBody(
  chat_id: string,
  message: Message,
  { home, links = {} }: BodyContext,
  texts: TemplateTexts,
): string {
  const title = texts.title ?? subjectLine(message)
  const fits = (body: string) => `${title}\n\n${body}`.length <= MOST_CHARACTERS
  const words = texts.body ?? outlineText(message, links, home, fits)
  const link_preview_options = { is_disabled: true }
  return JSON.stringify({ chat_id, text: `${title}\n\n${words}`, link_preview_options })
}

const answerShape = z.object({
  error_code: z.number().optional().catch(undefined),
  parameters: z
    .object({ retry_after: z.number().optional(), migrate_to_chat_id: z.number().optional() })
    .optional()
    .catch(undefined),
})

const meaningOf = readService(
  { status: 401, says: /\bunauthorized/i, is: 'final' },
  { status: 404, says: /^not found$/i, is: 'final' },
  { status: 403, says: /blocked|kicked|deactivated|not a member|can't/i, is: 'final' },
  { status: 400, says: /chat not found/i, is: 'final' },
  { status: 400, says: /upgraded to a supergroup/i, is: 'later' },
  { status: 400, says: /message is too long|text is empty|can't parse/i, is: 'message' },
  { status: 413, is: 'message' },
)

/** Telegram puts its pause into the body, and the status too where a server in between answers 200. */
function readTelegram(answer: PostAnswer): AttemptOutcome {
  const { error_code: status = answer.status, parameters } = answerOf(answer.body)
  const outcome = meaningOf(answer.saysNo ? { ...answer, status } : answer)
  const seconds = parameters?.retry_after
  const wait = seconds === undefined ? undefined : retryAfterMs(String(Math.ceil(seconds)), answer.now)
  return outcome.outcome === 'retry' && wait !== undefined ? { ...outcome, retryAfterMs: wait } : outcome
}

function answerOf(body: string): z.output<typeof answerShape> {
  try {
    return answerShape.safeParse(JSON.parse(body)).data ?? {}
  } catch {
    return {}
  }
}
