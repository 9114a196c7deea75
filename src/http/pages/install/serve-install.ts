import type { FastifyInstance, FastifyReply } from 'fastify'
import type { ConnectDeps } from '../../../accounts/connect-account.ts'
import { beginInstall, finishInstall, type InstallOutcome, type InstallSettings } from '../../../accounts/install.ts'
import type { ProviderFailure } from '../../../provider/failure.ts'
import { opensLimits } from '../../../provider/scopes.ts'
import type { Store } from '../../../redis/connect.ts'
import type { Keys } from '../../../redis/keys.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Logger } from '../../../runtime/logger.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { type Html, html } from '../../../text/html.ts'
import { Problem } from '../../problem.ts'
import { requireRedis } from '../../redis-away.ts'
import { plainPage, sendPage } from '../page.ts'
import type { BegunInstalls } from './begun-installs.ts'

export interface InstallDeps {
  install: InstallSettings
  connect: ConnectDeps
  store: Store
  keys: Keys
  actions: { connected(hubId: number): Promise<void> }
  begun: Pick<BegunInstalls, 'begin'>
  clock: Clock
  log: Logger
}

/** The two addresses that a customer sees: where an install begins, and where the provider sends them back to. */
export function serveInstall(app: FastifyInstance, deps: InstallDeps): void {
  // Not for HEAD: looking at an address must not use it up.
  app.get('/install', { exposeHeadRoute: false }, async (_request, reply) => {
    const waitMs = deps.begun.begin(deps.clock.now())
    if (waitMs > 0) throw tooMany(waitMs)
    return reply.redirect(await beginInstall(deps.store, deps.keys, deps.install), 302)
  })
  app.get('/oauth/callback', { exposeHeadRoute: false }, async (request, reply) => {
    await requireRedis(deps.store)
    const query = request.query as Record<string, unknown>
    const outcome = await finishInstall(deps.connect, {
      code: single(query.code),
      state: single(query.state),
      error: single(query.error),
    })
    if (outcome.is === 'connected' || outcome.is === 'reconnected') await wakePollers(deps, outcome.hubId)
    return answer(reply, outcome)
  })
}

function tooMany(waitMs: number): Problem {
  return new Problem(429, 'Too many installs are begun at the moment. Wait a minute, then try again.', {
    'retry-after': String(Math.ceil(waitMs / 1_000)),
  })
}

/** A parameter that is given twice is not given at all. */
function single(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** The account is stored already: whatever goes wrong here only makes its first poll come with the next sweep. */
async function wakePollers({ actions, log }: InstallDeps, hubId: number): Promise<void> {
  try {
    await actions.connected(hubId)
  } catch (error) {
    log.warn({ code: 'http.wake', hubId, err: error }, 'the pollers could not be told of a new account')
  }
}

interface Answer {
  status: number
  title: string
  body: Html
  retryAfterSeconds?: number
}

function answer(reply: FastifyReply, outcome: InstallOutcome): FastifyReply {
  const { status, title, body, retryAfterSeconds } = answerTo(outcome)
  if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds))
  return sendPage(reply, status, plainPage({ title, body }))
}

function answerTo(outcome: InstallOutcome): Answer {
  switch (outcome.is) {
    case 'connected':
    case 'reconnected':
      return connected(outcome)
    case 'refused':
      return {
        status: 403,
        title: 'Not connected',
        body: html`<p>The installation was refused or cancelled (${cleanText(outcome.reason, 80)}). Nothing was stored.</p>
${startAgain()}`,
      }
    case 'bad-state':
      return {
        status: 400,
        title: 'This link no longer works',
        body: html`<p>It was used before, is more than an hour old, or did not begin here. Nothing was stored.</p>
${startAgain()}`,
      }
    case 'no-code':
      return {
        status: 400,
        title: 'Something is missing',
        body: html`<p>The provider sent you back without the code that connects the account. Nothing was stored.</p>
${startAgain()}`,
      }
    case 'failed':
      return failed(outcome.failure)
  }
}

function connected({ is, hubId, hubDomain, scopes }: Extract<InstallOutcome, { hubDomain: string }>): Answer {
  const name = cleanText(hubDomain, 120)
  const account = name === '' ? html`<b>Account ${hubId}</b>` : html`<b>${name}</b> (account ${hubId})`
  const warning = html`<p class="verdict warning">None of the scopes that were granted lets its limits be read, so they can't be watched. Connect it again with a scope such as crm.objects.contacts.read.</p>`
  return {
    status: 200,
    title: is === 'connected' ? 'Connected' : 'Connected again',
    body: html`<p>${account} is connected. You can close this page.</p>
${opensLimits(scopes) ? undefined : warning}`,
  }
}

/** What the provider's refusal means for whoever stands in front of the page. Its own words are in the log. */
function failed(failure: ProviderFailure): Answer {
  switch (failure.class) {
    case 'rejected':
      return {
        status: 422,
        title: 'The provider did not accept the code',
        body: html`<p>It may have expired, or have been used before. Nothing was stored.</p>
${startAgain()}`,
      }
    case 'client':
    case 'unauthorized':
    case 'forbidden':
      return {
        status: 502,
        title: 'The provider does not accept this app',
        body: html`<p>Nothing was stored, and trying again will not help. Whoever runs this server must check the client id, the client secret and the redirect address in its configuration.</p>`,
      }
    case 'transient':
    case 'parked': {
      const retryAfterSeconds = Math.max(1, Math.ceil((failure.retryAfterMs ?? 30_000) / 1000))
      return {
        status: 503,
        title: 'The provider does not answer',
        body: html`<p>Nothing was stored. Wait a moment, then start again: the link that brought you here works only once.</p>
${startAgain()}`,
        retryAfterSeconds,
      }
    }
  }
}

function startAgain(): Html {
  return html`<p><a href="/install">Start again</a></p>`
}
