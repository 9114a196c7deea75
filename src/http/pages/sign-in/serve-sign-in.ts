import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../../runtime/clock.ts'
import type { Logger } from '../../../runtime/logger.ts'
import type { Metrics } from '../../../runtime/metrics.ts'
import { countOf } from '../../../text/format-number.ts'
import { acceptOwnForms, readForms, refuseFormsFromElsewhere } from '../../access/accept-forms.ts'
import { ownerOf } from '../../access/admin-token.ts'
import type { FormTokens } from '../../access/form-token.ts'
import type { KnownTokens } from '../../access/known-tokens.ts'
import { localPath } from '../../access/local-path.ts'
import type { Sessions } from '../../access/session.ts'
import { type Attempt, forwardedFor, SignInAttempts } from '../../access/sign-in-attempts.ts'
import { redisAway } from '../../redis-away.ts'
import { sendPage } from '../page.ts'
import { signInPage } from './sign-in-page.ts'

export interface SignInDeps {
  guard: Guard
  metrics: Metrics
  publicUrl: string
  clock: Clock
  log: Logger
}

export interface Guard {
  known: KnownTokens
  sessions: Sessions
  forms: FormTokens
}

export function serveSignIn(app: FastifyInstance, deps: SignInDeps): void {
  const attempts = new SignInAttempts()
  app.register((scope, _options, done) => {
    readForms(scope)
    // The form's own page: without it browsers keep quiet about whose page it was.
    scope.addHook('onRequest', async (_request, reply) => {
      reply.header('referrer-policy', 'same-origin')
    })
    scope.get('/sign-in', (request, reply) => showForm(deps, request, reply))
    scope.post('/sign-in', (request, reply) => signIn(deps, attempts, request, reply))
    done()
  })
  app.register((scope, _options, done) => {
    acceptOwnForms(scope, deps.publicUrl)
    scope.post('/sign-out', async (_request, reply) =>
      reply.header('set-cookie', deps.guard.sessions.end()).redirect('/sign-in', 303),
    )
    done()
  })
}

async function showForm({ guard }: SignInDeps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const next = localPath((request.query as Record<string, unknown>).next)
  const { guarded } = await guard.known.current()
  return guarded ? sendPage(reply, 200, signInPage(next)) : reply.redirect('/', 303)
}

async function signIn(
  { guard, publicUrl, metrics, clock, log }: SignInDeps,
  attempts: SignInAttempts,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { tokens, guarded, complete } = await guard.known.current()
  if (!guarded) return reply.redirect('/', 303)
  refuseFormsFromElsewhere(request, publicUrl)
  const { token, next: wanted } = (request.body ?? {}) as Record<string, unknown>
  const next = localPath(wanted)
  const now = clock.now()
  const attempt = attemptOf(request)
  const waitMs = attempts.waitMs(attempt, now)
  if (waitMs > 0) {
    metrics.signInFailures.inc()
    const seconds = Math.ceil(waitMs / 1000)
    const complaint = `Too many attempts failed. Wait ${countOf(seconds, 'second')}, then try again.`
    return sendPage(reply.header('retry-after', String(seconds)), 429, signInPage(next, complaint))
  }
  const owner =
    typeof token === 'string'
      ? (ownerOf(token, tokens) ?? ownerOf(token, (await guard.known.newest()).tokens))
      : undefined
  if (owner === undefined) {
    if (!complete) throw redisAway()
    attempts.failed(attempt, now)
    metrics.signInFailures.inc()
    log.warn({ code: 'http.sign-in', address: attempt.forwardedFor ?? attempt.peer }, 'somebody failed to sign in')
    return sendPage(reply, 401, signInPage(next, 'That is no admin token.'))
  }
  guard.known.used(owner)
  if (!owner.scopes.includes('read')) {
    return sendPage(reply, 403, signInPage(next, `${owner.name} does not have the scope read.`))
  }
  return reply.header('set-cookie', guard.sessions.begin(owner, now)).redirect(next, 303)
}

function attemptOf({ socket, headers }: FastifyRequest): Attempt {
  return { peer: socket.remoteAddress ?? '', forwardedFor: forwardedFor(headers['x-forwarded-for']) }
}
