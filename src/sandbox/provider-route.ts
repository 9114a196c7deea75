import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Clock } from '../runtime/clock.ts'
import { type Answer, send, textOf } from './answer.ts'
import type { Hook, Mail } from './arrivals.ts'
import type { Faults, FaultyEndpoint } from './faults.ts'
import type { GrantType, JournalEntry } from './journal.ts'
import { meetFault } from './meet-fault.ts'
import type { Newest } from './newest.ts'
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
  readonly journal: Newest<JournalEntry>
  readonly mails: Newest<Mail>
  readonly hooks: Newest<Hook>
  /** Aborted when the sandbox closes, so that delayed answers don't hold it up. */
  readonly closing: AbortSignal
}

/** The account of a request: read from it before anything is decided, changing nothing. */
export interface Caller {
  readonly hubId: number | null
  readonly grant?: GrantType
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
  const { endpoint, method, path } = route
  const [, api] = /^\/(?:oauth|crm\/limits|crm)\/([^/]+)/.exec(path) ?? []
  server.route({
    method,
    url: path,
    handler: async (request, reply) => {
      const caller = route.identify(request)
      const entry: JournalEntry = { time: timeNow(parts), endpoint, method, api, ...caller, status: undefined }
      parts.journal.add(entry)
      const answer = await meetFault(
        parts.faults.take(endpoint, caller.hubId),
        parts,
        () => route.answer(request, caller),
        (status) => route.usualError(status, caller),
      )
      entry.status = answer?.status ?? 0
      return send(reply, answer)
    },
  })
}

/** ISO 8601 with milliseconds. */
export function timeNow({ clock }: Pick<SandboxParts, 'clock'>): string {
  return new Date(clock.now()).toISOString()
}

/** The fields of a form body; nothing unless the content type is that of a form. */
export function formOf(request: FastifyRequest): Record<string, string> | undefined {
  const type = request.headers['content-type'] ?? ''
  if (!type.toLowerCase().startsWith('application/x-www-form-urlencoded')) return undefined
  return Object.fromEntries(new URLSearchParams(textOf(request)))
}
