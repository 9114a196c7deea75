import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../runtime/clock.ts'
import { type Answer, drop, send, throughFault } from './answer.ts'
import type { Fault, Faults, FaultyEndpoint } from './faults.ts'
import type { GrantType, Journal } from './journal.ts'
import type { World } from './world.ts'

/** The app that the provider knows. */
export interface RegisteredApp {
  readonly clientId: string
  readonly clientSecret: string
}

/** The parts of the sandbox; each takes those that it needs. */
export interface SandboxParts {
  readonly app: RegisteredApp
  readonly clock: Clock
  readonly world: World
  readonly faults: Faults
  readonly journal: Journal
  /** Aborted when the sandbox closes, so that delayed answers don't hold it up. */
  readonly closing: AbortSignal
}

/** The account of a request: read from it before anything is decided, changing nothing. */
export interface Caller {
  readonly hubId: number | null
  readonly grant?: GrantType | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
}

export interface ProviderRoute {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly endpoint: Exclude<FaultyEndpoint, 'hooks' | 'smtp'>
  identify(request: FastifyRequest): Caller
  /** Does the work: the only place that changes the world. */
  answer(request: FastifyRequest, caller: Caller): Answer
  usualError(status: number, caller: Caller): Answer
}

/** Serves one of the provider's endpoints: journaled, and open to faults. */
export function provide(server: FastifyInstance, parts: SandboxParts, route: ProviderRoute): void {
  const { faults, journal } = parts
  const { endpoint, method, path } = route
  const [, api] = /^\/(?:oauth|crm\/limits|crm)\/([^/]+)/.exec(path) ?? []
  server.route({
    method,
    url: path,
    handler: (request, reply) => {
      const caller = route.identify(request)
      const entry = journal.open({ ...caller, endpoint, method, api })
      const fault = faults.take(endpoint, caller.hubId)
      if (fault !== undefined) {
        return answerFaulted(fault, parts, reply, {
          work: () => route.answer(request, caller),
          usualError: (status) => route.usualError(status, caller),
          note: (status) => {
            entry.status = status
          },
        })
      }
      const answer = route.answer(request, caller)
      entry.status = answer.status
      return send(reply, answer)
    },
  })
}

/** `note` learns the status that was answered, 0 for none. */
export async function answerFaulted(
  fault: Fault,
  { clock, closing }: Pick<SandboxParts, 'clock' | 'closing'>,
  reply: FastifyReply,
  call: { work: () => Answer; usualError: (status: number) => Answer; note: (status: number) => void },
): Promise<FastifyReply> {
  const answer = await throughFault(fault, call.work, call.usualError, (ms) => clock.wait(ms, closing))
  call.note(answer?.status ?? 0)
  return answer === undefined || closing.aborted ? drop(reply) : send(reply, answer)
}

/** The fields of a form body; nothing unless the content type is that of a form. */
export function formOf(request: FastifyRequest): Record<string, string> | undefined {
  const type = request.headers['content-type'] ?? ''
  if (!type.toLowerCase().startsWith('application/x-www-form-urlencoded')) return undefined
  return Object.fromEntries(new URLSearchParams(textOf(request)))
}

/** The body as it came. */
export function textOf(request: FastifyRequest): string {
  return Buffer.isBuffer(request.body) ? request.body.toString('utf8') : ''
}
