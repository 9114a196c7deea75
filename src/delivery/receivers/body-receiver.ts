import type { Message } from '../../alerts/alert.ts'
import { withFault } from '../templates/message-template.ts'
import type { createPost } from './http-post.ts'
import type { ShownReceiver } from './receiver-kind.ts'

/** A body, and what was wrong with the template that it was to be made by. */
export type RenderedBody = { body: string; fault: string | undefined }

interface BodyReceiverOptions {
  name: string
  type: string
  post: ReturnType<typeof createPost>
  headers?: Record<string, string>
  render: (message: Message) => RenderedBody
}

/** A receiver that gets each message as one JSON body. */
export function createBodyReceiver({
  name,
  type,
  post: { post, ...asIs },
  headers,
  render,
}: BodyReceiverOptions): ShownReceiver {
  return {
    ...{ name, type, ...asIs },
    async send({ message, now }, signal) {
      const { body, fault } = render(message)
      return withFault(await post({ body, now, signal, ...(headers && { headers }) }), fault)
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
