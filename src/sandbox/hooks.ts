import type { FastifyInstance } from 'fastify'
import { noContent, send, textOf } from './answer.ts'
import { meetFault } from './meet-fault.ts'
import { type SandboxParts, timeNow } from './provider-route.ts'

/** Serves the receivers of webhooks: any path below `/sandbox/hooks` is a receiver of its own. */
export function serveHookSink(server: FastifyInstance, parts: SandboxParts): void {
  server.post('/sandbox/hooks*', async (request, reply) => {
    const { method, headers, url } = request
    const rawBody = textOf(request)
    const receive = () => {
      const [path = ''] = url.split('?')
      parts.hooks.add({ time: timeNow(parts), path, method, headers, body: parsed(rawBody), rawBody })
      return noContent()
    }
    const fault = parts.faults.take('hooks', null)
    return send(reply, await meetFault(fault, parts, receive, (status) => ({ status, body: '' })))
  })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
