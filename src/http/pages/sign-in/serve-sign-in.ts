import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../../runtime/clock.ts'
import type { Metrics } from '../../../runtime/metrics.ts'
import { acceptOwnForms, readForms, refuseFormsFromElsewhere } from '../../access/accept-forms.ts'
import { ownerOf } from '../../access/admin-token.ts'
import type { FormTokens } from '../../access/form-token.ts'
import type { KnownTokens } from '../../access/known-tokens.ts'
import { localPath } from '../../access/local-path.ts'
import type { NoteRefusal } from '../../access/note-refusal.ts'
import type { Sessions } from '../../access/session.ts'
import type { SignInLink } from '../../access/sign-in-link.ts'
import { redisAway } from '../../redis-away.ts'
import { sendPage } from '../page.ts'
import { signInPage } from './sign-in-page.ts'

export interface SignInDeps {
  guard: Guard
  metrics: Metrics
  publicUrl: string
  clock: Clock
}

export interface Guard {
  known: KnownTokens
  sessions: Sessions
  forms: FormTokens
  /** Signs in whom the main token belongs to. */
  link: SignInLink
  noteRefusal: NoteRefusal
  /** Whether metrics ask for no token. */
  openMetrics: boolean
}

export function serveSignIn(app: FastifyInstance, deps: SignInDeps): void {
  app.register((scope, _options, done) => {
    readForms(scope)
    // The form's own page: without it browsers keep quiet about whose page it was.
    scope.addHook('onRequest', async (_request, reply) => {
      reply.header('referrer-policy', 'same-origin')
    })
    scope.get('/sign-in', async (request, reply) => showForm(deps, request, reply))
    scope.post('/sign-in', (request, reply) => signIn(deps, request, reply))
    done()
  })
  app.register((scope, _options, done) => {
    acceptOwnForms(scope, deps.publicUrl)
    scope.post('/sign-out', async (request, reply) => {
      const { known, sessions } = deps.guard
      await known.endSession(sessions.textOf(request.headers.cookie))
      return reply.header('set-cookie', sessions.end()).redirect('/sign-in', 303)
    })
    done()
  })
}

function showForm({ guard, clock }: SignInDeps, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { next, code } = request.query as Record<string, unknown>
  const { main } = guard.known
  if (code === undefined) return sendPage(reply, 200, signInPage(localPath(next)))
  // A program that only checks the link must not use it up.
  if (main === undefined || request.method !== 'GET' || !guard.link.use(code)) {
    return sendPage(reply, 401, signInPage('/', 'That link was used already, or is none of this server.'))
  }
  return reply.header('set-cookie', guard.sessions.begin(main, clock.now())).redirect('/', 303)
}

async function signIn(
  { guard, publicUrl, metrics, clock }: SignInDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { tokens, complete } = await guard.known.current()
  refuseFormsFromElsewhere(request, publicUrl)
  const { token, next: wanted } = (request.body ?? {}) as Record<string, unknown>
  const next = localPath(wanted)
  const owner =
    typeof token === 'string'
      ? (ownerOf(token, tokens) ?? ownerOf(token, (await guard.known.newest()).tokens))
      : undefined
  if (owner === undefined) {
    if (!complete) throw redisAway()
    // Counted, and not held up: no number of guesses finds a token, and a limit would keep out who has one.
    metrics.signInFailures.inc()
    guard.noteRefusal('sign-in', request)
    return sendPage(reply, 401, signInPage(next, 'That is no admin token.'))
  }
  guard.known.used(owner)
  if (!owner.scopes.includes('read')) {
    return sendPage(reply, 403, signInPage(next, `${owner.name} does not have the scope read.`))
  }
  return reply.header('set-cookie', guard.sessions.begin(owner, clock.now())).redirect(next, 303)
}
