import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { AuditLog } from '../../audit/audit-log.ts'
import type { Who } from '../../audit/audited.ts'
import { type Html, html } from '../../text/html.ts'
import { ownerOf } from '../access/admin-tokens.ts'
import { addressOf, clientOf, type NoteRefusal, networkOf } from '../access/client.ts'
import { acceptOwnForms, FEW_FIELDS, OPEN_FORM, readForms, refuseFormsFromElsewhere } from '../access/forms.ts'
import type { KnownTokens } from '../access/known-tokens.ts'
import type { Sessions, SignInLink } from '../access/session.ts'
import type { createPersonReader, TrustedHeaders } from '../access/trusted-person.ts'
import { whoOf } from '../access/who.ts'
import { redisAway } from '../redis-away.ts'
import type { WebDeps } from '../web-deps.ts'
import { plainPage, sendPage } from './page.ts'

export interface Guard {
  known: KnownTokens
  sessions: Sessions
  /** Signs in the owner of the main token. */
  link: SignInLink
  noteRefusal: NoteRefusal
  audit: Pick<AuditLog, 'noteFirstOfDay'>
  /** Reads the person whom a trusted proxy names. */
  personOf: ReturnType<typeof createPersonReader>
  /** Undefined: no proxy signs people in. */
  trusted: TrustedHeaders | undefined
  publicUrl: string
  /** True where metrics ask for no token. */
  openMetrics: boolean
}

type SignInParts = { guard: Guard } & Pick<WebDeps, 'metrics' | 'publicUrl' | 'clock'>

export function serveSignIn(app: FastifyInstance, deps: SignInParts): void {
  app.register((scope, _options, done) => {
    readForms(scope, FEW_FIELDS)
    refuseFormsFromElsewhere(scope, deps.publicUrl)
    // The form's own page: without this header browsers keep quiet about the page of origin.
    scope.addHook('onRequest', async (_request, reply) => {
      reply.header('referrer-policy', 'same-origin')
    })
    scope.get('/sign-in', async (request, reply) => showForm(deps, request, reply))
    scope.post('/sign-in', OPEN_FORM, (request, reply) => signIn(deps, request, reply))
    done()
  })
  app.register((scope, _options, done) => {
    acceptOwnForms(scope, deps.publicUrl)
    scope.post('/sign-out', async (request, reply) => {
      const { known, sessions } = deps.guard
      await known.endSession(sessions.textOf(request.headers.cookie))
      void deps.guard.audit.noteFirstOfDay({ action: 'sign-in.ended', who: whoOf(request) })
      return reply.header('set-cookie', sessions.end()).redirect('/sign-in', 303)
    })
    done()
  })
}

function showForm({ guard, clock }: SignInParts, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { next, code } = request.query as Record<string, unknown>
  const { main } = guard.known
  if (code === undefined) return sendPage(reply, 200, signInPage(localPath(next)))
  // A program that only checks the link must not use it up.
  if (main === undefined || request.method !== 'GET' || !guard.link.use(code)) {
    return sendPage(reply, 401, signInPage('/', 'This link was used before, or belongs to another server.'))
  }
  noteSignIn(guard, request, { name: main.name, via: 'link' })
  return reply.header('set-cookie', guard.sessions.begin(main, clock.now())).redirect('/', 303)
}

async function signIn(
  { guard, metrics, clock }: SignInParts,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { tokens, complete } = await guard.known.current()
  const { token, next: wanted } = (request.body ?? {}) as Record<string, unknown>
  const next = localPath(wanted)
  const owner =
    typeof token === 'string'
      ? (ownerOf(token, tokens) ?? ownerOf(token, (await guard.known.newest()).tokens))
      : undefined
  if (owner === undefined) {
    if (!complete) throw redisAway()
    // A refused sign-in is counted, and not slowed down: no number of guesses finds a token, and a limit would lock out its
    // owner.
    metrics.signInFailures.inc()
    guard.noteRefusal('sign-in', request)
    return sendPage(reply, 401, signInPage(next, 'Wrong admin token.'))
  }
  guard.known.used(owner)
  if (!owner.scopes.includes('read')) {
    return sendPage(reply, 403, signInPage(next, `${owner.name} does not have the scope read.`))
  }
  noteSignIn(guard, request, { name: owner.name, via: 'session' })
  return reply.header('set-cookie', guard.sessions.begin(owner, clock.now())).redirect(next, 303)
}

/** Not awaited: the main token signs in without a Redis, too. */
function noteSignIn({ audit }: Guard, request: FastifyRequest, how: Pick<Who, 'name' | 'via'>): void {
  const who = { ...how, from: addressOf(request) }
  void audit.noteFirstOfDay({ action: 'sign-in.done', who }, networkOf(clientOf(request).peer))
}

/** `next` is where it leads to; `complaint` is why the last attempt did not. */
export function signInPage(next: string, complaint?: string): Html {
  return plainPage({
    title: 'Sign in to Plimsoll',
    body: html`${complaint === undefined ? undefined : html`<p class="verdict critical" role="alert">${complaint}</p>`}
<form method="post" action="/sign-in" class="form">
<input type="hidden" name="next" value="${next}">
<label>Admin token <input type="password" name="token" required autofocus autocomplete="current-password"></label>
<div class="row"><button>Sign in</button></div>
</form>
<p class="soft">The first admin token is in <code>config/.plimsoll/admin-token</code> on the server; <code>plimsoll admin-tokens add NAME</code> makes others.</p>`,
  })
}

const HERE = 'http://here.invalid'

/** Address after signing in: a path of this server, or `/` for an address elsewhere. */
export function localPath(text: unknown): string {
  if (typeof text !== 'string' || !text.startsWith('/')) return '/'
  const url = URL.parse(text, HERE)
  if (url === null || url.origin !== HERE) return '/'
  const path = url.pathname + url.search
  // A parser may turn dots and backslashes into two slashes at the start, which is another host.
  return path.startsWith('//') ? '/' : path
}
