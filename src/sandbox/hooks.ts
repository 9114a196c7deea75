import type { FastifyInstance, FastifyRequest } from 'fastify'
import { noContent, send } from './answer.ts'
import { BoundedLog } from './bounded-log.ts'
import { answerFaulted, type SandboxParts, textOf } from './provider-route.ts'

/** A webhook that arrived. */
export interface Hook {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly path: string
  readonly method: string
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Exactly as it came: signatures are made over it. */
  readonly rawBody: string
}

const KEPT_HOOKS = 50_000
const KEPT_CHARACTERS = 64 * 1024 * 1024
const LARGEST_HOOK = 10 * 1024 * 1024

export class Hooks {
  readonly #hooks = new BoundedLog<Hook>({
    entries: KEPT_HOOKS,
    weight: KEPT_CHARACTERS,
    weigh: (hook) => hook.rawBody.length,
  })

  add(hook: Hook): void {
    this.#hooks.add(hook)
  }

  /** Oldest first: `{ time, path, method, headers, body, rawBody }`, the body parsed where it is JSON. */
  list(): (Omit<Hook, 'at'> & { time: string; body: unknown })[] {
    return this.#hooks.all().map(({ at, path, method, headers, rawBody }) => {
      return { time: new Date(at).toISOString(), path, method, headers, body: parsed(rawBody), rawBody }
    })
  }
}

/** Serves the receivers of webhooks: any path below `/sandbox/hooks` is a receiver of its own. */
export function serveHookSink(server: FastifyInstance, hooks: Hooks, parts: SandboxParts): void {
  const handler = (request: FastifyRequest, reply: Parameters<typeof send>[0]) => {
    const receive = () => {
      hooks.add(arrivalOf(request, parts.clock.now()))
      return noContent()
    }
    const fault = parts.faults.take('hooks', null)
    if (fault === undefined) return send(reply, receive())
    return answerFaulted(fault, parts, reply, {
      work: receive,
      usualError: (status) => ({ status, body: '' }),
      note: () => {},
    })
  }
  for (const url of ['/sandbox/hooks', '/sandbox/hooks/*']) {
    server.route({ method: 'POST', url, bodyLimit: LARGEST_HOOK, handler })
  }
}

function arrivalOf(request: FastifyRequest, at: number): Hook {
  return {
    at,
    path: request.url.split('?')[0] ?? '',
    method: request.method,
    headers: request.headers,
    rawBody: textOf(request),
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
