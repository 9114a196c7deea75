import type { FastifyInstance } from 'fastify'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Secret } from '../runtime/secret.ts'
import { type Html, html } from '../text/html.ts'
import { isAdminToken } from './access.ts'
import { localPath } from './local-path.ts'
import { plainPage, sendPage } from './page.ts'
import type { Sessions } from './session.ts'
import { SignInAttempts } from './sign-in-attempts.ts'

export interface SignInDeps {
  /** Undefined where nobody has to sign in. */
  guard: Guard | undefined
  clock: Clock
  log: Logger
}

export interface Guard {
  adminToken: Secret
  sessions: Sessions
}

export function serveSignIn(app: FastifyInstance, { guard, clock, log }: SignInDeps): void {
  const attempts = new SignInAttempts()
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) => {
    done(null, Object.fromEntries(new URLSearchParams(String(body))))
  })

  app.get('/sign-in', async (request, reply) => {
    const next = localPath((request.query as Record<string, unknown>).next)
    return guard === undefined ? reply.redirect('/', 303) : sendPage(reply, 200, signInPage(next))
  })

  app.post('/sign-in', async (request, reply) => {
    if (guard === undefined) return reply.redirect('/', 303)
    const { token, next } = (request.body ?? {}) as Record<string, unknown>
    const now = clock.now()
    const waitMs = attempts.waitMs(request.ip, now)
    if (waitMs > 0) {
      reply.header('retry-after', String(Math.ceil(waitMs / 1000)))
      return sendPage(reply, 429, signInPage(localPath(next), 'Too many attempts. Wait a minute, then try again.'))
    }
    if (typeof token !== 'string' || !isAdminToken(token, guard.adminToken)) {
      attempts.failed(request.ip, now)
      log.warn({ code: 'http.sign-in', address: request.ip }, 'somebody failed to sign in')
      return sendPage(reply, 401, signInPage(localPath(next), 'That is not the admin token.'))
    }
    return reply.header('set-cookie', guard.sessions.begin(now)).redirect(localPath(next), 303)
  })

  app.post('/sign-out', async (_request, reply) => {
    if (guard !== undefined) reply.header('set-cookie', guard.sessions.end())
    return reply.redirect('/sign-in', 303)
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
<p class="soft">It is <code>http.adminToken</code> in the configuration of this server.</p>`,
  })
}
