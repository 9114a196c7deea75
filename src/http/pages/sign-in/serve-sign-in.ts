import type { FastifyInstance } from 'fastify'
import type { Clock } from '../../../runtime/clock.ts'
import type { Logger } from '../../../runtime/logger.ts'
import type { Metrics } from '../../../runtime/metrics.ts'
import { type Html, html } from '../../../text/html.ts'
import { ownerOf } from '../../access/admin-token.ts'
import type { KnownTokens } from '../../access/known-tokens.ts'
import { localPath } from '../../access/local-path.ts'
import type { Sessions } from '../../access/session.ts'
import { SignInAttempts } from '../../access/sign-in-attempts.ts'
import { redisAway } from '../../redis-away.ts'
import { plainPage, sendPage } from '../page.ts'

export interface SignInDeps {
  guard: Guard
  metrics: Metrics
  clock: Clock
  log: Logger
}

export interface Guard {
  known: KnownTokens
  sessions: Sessions
}

export function serveSignIn(app: FastifyInstance, { guard, metrics, clock, log }: SignInDeps): void {
  const attempts = new SignInAttempts()
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) => {
    done(null, Object.fromEntries(new URLSearchParams(String(body))))
  })

  app.get('/sign-in', async (request, reply) => {
    const next = localPath((request.query as Record<string, unknown>).next)
    const { guarded } = await guard.known.current()
    return guarded ? sendPage(reply, 200, signInPage(next)) : reply.redirect('/', 303)
  })

  app.post('/sign-in', async (request, reply) => {
    const { tokens, guarded, complete } = await guard.known.current()
    if (!guarded) return reply.redirect('/', 303)
    const { token, next } = (request.body ?? {}) as Record<string, unknown>
    const now = clock.now()
    const waitMs = attempts.waitMs(request.ip, now)
    if (waitMs > 0) {
      metrics.signInFailures.inc()
      reply.header('retry-after', String(Math.ceil(waitMs / 1000)))
      return sendPage(reply, 429, signInPage(localPath(next), 'Too many attempts. Wait a minute, then try again.'))
    }
    const owner = typeof token === 'string' ? ownerOf(token, tokens) : undefined
    if (owner === undefined) {
      if (!complete) throw redisAway()
      attempts.failed(request.ip, now)
      metrics.signInFailures.inc()
      log.warn({ code: 'http.sign-in', address: request.ip }, 'somebody failed to sign in')
      return sendPage(reply, 401, signInPage(localPath(next), 'That is no admin token.'))
    }
    guard.known.used(owner)
    if (!owner.scopes.includes('read')) {
      return sendPage(reply, 403, signInPage(localPath(next), `${owner.name} does not have the scope read.`))
    }
    return reply.header('set-cookie', guard.sessions.begin(owner, now)).redirect(localPath(next), 303)
  })

  app.post('/sign-out', async (_request, reply) => {
    return reply.header('set-cookie', guard.sessions.end()).redirect('/sign-in', 303)
  })
}

function signInPage(next: string, complaint?: string): Html {
  return plainPage({
    title: 'Sign in',
    body: html`${complaint === undefined ? undefined : html`<p class="verdict critical" role="alert">${complaint}</p>`}
<form method="post" action="/sign-in" class="sign-in">
<input type="hidden" name="next" value="${next}">
<label>Admin token <input type="password" name="token" required autofocus autocomplete="current-password"></label>
<button>Sign in</button>
</form>
<p class="soft">It is <code>http.adminToken</code> in the configuration of this server, or one with the scope <code>read</code> from <code>plimsoll admin-tokens add</code>.</p>`,
  })
}
