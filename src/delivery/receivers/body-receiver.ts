import type { Message } from '../../alerts/alert.ts'
import type { AttemptOutcome } from '../receiver.ts'
import { messageTemplate, type TemplateSettings, type TemplateTexts, withFault } from '../templates/message-template.ts'
import type { Post } from './http-post.ts'
import type { BodyContext, ShownReceiver } from './receiver-kind.ts'

interface BodyReceiverOptions {
  type: string
  post: Post<AttemptOutcome>
  headers?: Record<string, string>
  template: TemplateSettings | undefined
  /** Limits of a text by the template, in this service. */
  texts: Parameters<typeof messageTemplate>[1]
  bodyOf: (message: Message, context: BodyContext, texts: TemplateTexts) => string
}

/** A receiver that gets each message as one JSON body. */
export function createBodyReceiver(
  context: BodyContext,
  { type, post: { post, ...asIs }, headers = {}, template, texts, bodyOf }: BodyReceiverOptions,
): ShownReceiver {
  const textsOf = messageTemplate(template, texts)
  const render = (message: Message) => {
    const own = textsOf(message, context)
    return { body: bodyOf(message, context, own), fault: own.fault }
  }
  return {
    name: context.receiver,
    type,
    ...asIs,
    async send({ message, now }, signal) {
      const { body, fault } = render(message)
      return withFault(await post({ body, headers, now, signal }), fault)
    },
    show(message) {
      const { body, fault } = render(message)
      return { text: indented(body), fault }
    },
  }
}

/** JSON for people. */
export function indented(json: string): string {
  return JSON.stringify(JSON.parse(json), null, 2)
}
