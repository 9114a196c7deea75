import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { CodeDeps } from '../../../accounts/connect-account.ts'
import {
  beginInstall,
  finishInstall,
  type InstallSettings,
  isOfReconnectLink,
  type Redirect,
} from '../../../accounts/install.ts'
import { readReconnectLink } from '../../../accounts/reconnect-link.ts'
import { opensLimits } from '../../../provider/dialects.ts'
import type { ProviderFailure } from '../../../provider/failure.ts'
import type { Store } from '../../../redis/connect.ts'
import type { Clock } from '../../../runtime/clock.ts'
import { LineQuota, type Logger } from '../../../runtime/logger.ts'
import type { Metrics } from '../../../runtime/metrics.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { countOf } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import { clientOf } from '../../access/client.ts'
import { requireRedis } from '../../redis-away.ts'
import { plainPage, sendPage } from '../page.ts'
import { type CallbackOutcome, isRefusedCode, noteInstall } from './note-install.ts'
import { RefusedCodes } from './refused-codes.ts'

export interface InstallDeps {
  install: InstallSettings
  connect: CodeDeps
  store: Store
  actions: { connected(hubId: number): Promise<void> }
  metrics: Metrics
  clock: Clock
  log: Logger
}

/** Failed installs that are logged, a minute. */
const MOST_LINES = 60

/** The two addresses that a customer sees: where an install begins, and where the provider sends them back to. */
export function serveInstall(app: FastifyInstance, deps: InstallDeps): void {
  const { install, connect, store, clock } = deps
  const refusedCodes = new RefusedCodes()
  const noting = { ...deps, quota: new LineQuota(MOST_LINES) }
  // Not for HEAD: checking an address must not use it up.
  app.get('/install', { exposeHeadRoute: false }, async (request, reply) => {
    const link = readReconnectLink(connect.vault, request.query as object, clock.now())
    if (link.is === 'expired' || link.is === 'forged') return send(reply, BAD_LINKS[link.is])
    // The callback needs it: no customer should grant what can't be stored.
    await requireRedis(store)
    const only = link.is === 'good' ? link.hubId : undefined
    return reply.redirect(beginInstall(connect.vault, install, clock.now(), only), 302)
  })
  app.get('/oauth/callback', { exposeHeadRoute: false }, async (request, reply) => {
    await requireRedis(store)
    const [client, redirect] = [clientOf(request), redirectOf(request)]
    const waitMs = refusedCodes.waitMs(client, clock.now())
    const outcome: CallbackOutcome = waitMs > 0 ? { is: 'too-many', waitMs } : await finishInstall(connect, redirect)
    if (isRefusedCode(outcome)) refusedCodes.add(client, clock.now())
    noteInstall(noting, outcome, client)
    if ('scopes' in outcome || (outcome.is === 'other-account' && outcome.isReconnected))
      await wakePollers(deps, outcome.hubId)
    return send(reply, answerTo(outcome, clock.now(), startAgain(redirect)))
  })
}

function redirectOf(request: FastifyRequest): Redirect {
  const query = request.query as Record<string, unknown>
  return { code: single(query.code), state: single(query.state), error: single(query.error) }
}

/** A parameter that is given twice is not given at all. */
function single(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** The account is stored already: a fault here only delays its first poll to the next sweep. */
async function wakePollers({ actions, log }: InstallDeps, hubId: number): Promise<void> {
  try {
    await actions.connected(hubId)
  } catch (error) {
    log.warn({ code: 'http.wake', hubId, err: error }, 'the pollers could not be woken for a new account')
  }
}

interface Answer {
  status: number
  title: string
  body: Html
  retryAfterSeconds?: number
  /** The page asks again by itself by then. */
  asksAgain?: boolean
}

function send(reply: FastifyReply, { status, title, body, retryAfterSeconds, asksAgain }: Answer): FastifyReply {
  if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds))
  const refresh = asksAgain && retryAfterSeconds !== undefined ? { refreshSeconds: retryAfterSeconds } : {}
  return sendPage(reply, status, plainPage({ title, body, ...refresh }))
}

function answerTo(outcome: CallbackOutcome, now: number, again: Html): Answer {
  switch (outcome.is) {
    case 'connected':
    case 'reconnected':
      return connected(outcome)
    case 'refused':
      return {
        status: 403,
        title: 'Not connected',
        body: html`<p>The installation was refused or canceled (${cleanText(outcome.reason, 80)}). Nothing was stored.</p>
${again}`,
      }
    case 'bad-state':
      return {
        status: 400,
        title: 'This link no longer works',
        body: html`<p>It was used before, is more than an hour old, or did not begin here. Nothing was stored.</p>
${again}`,
      }
    case 'no-code':
      return {
        status: 400,
        title: 'A parameter is missing',
        body: html`<p>The provider sent you back without the code that connects the account. Nothing was stored.</p>
${again}`,
      }
    case 'other-account':
      return otherAccount(outcome)
    case 'waits':
      return waits(outcome.until - now)
    case 'parked':
      return PARKED
    case 'too-many':
      return tooMany(outcome.waitMs, again)
    case 'failed':
      return failed(outcome.failure, again)
  }
}

function connected({ is, hubId, hubDomain, scopes }: Extract<CallbackOutcome, { scopes: string[] }>): Answer {
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

function otherAccount({
  hubId,
  hubDomain,
  wanted,
  isReconnected,
}: Extract<CallbackOutcome, { wanted: number }>): Answer {
  const domain = cleanText(hubDomain, 120)
  const chosen = domain === '' ? html`account ${hubId}` : html`${domain} (account ${hubId})`
  return {
    status: 409,
    title: 'This was another account',
    body: html`<p>The link connects <b>account ${wanted}</b> and no other. You chose ${chosen}. ${isReconnected ? html`This account was connected before: it was reconnected. Account ${wanted} was not.` : 'Nothing was stored.'}</p>
<p>Open the link again and choose account ${wanted}.</p>`,
  }
}

const BAD_LINKS: Readonly<Record<'expired' | 'forged', Answer>> = {
  expired: {
    status: 410,
    title: 'This link has expired',
    body: html`<p>Nothing was changed. Ask the people who sent it to you for a new one.</p>`,
  },
  forged: {
    status: 403,
    title: 'This link is not valid',
    body: html`<p>Nothing was changed. Part of it may be missing: copy it whole from the message that it came in.</p>`,
  },
}

const PARKED: Answer = {
  status: 202,
  title: 'Connected, being set up',
  body: html`<p>Your consent has arrived, and the provider has not confirmed yet which account it is for. Nothing more is to be done: you can close this page.</p>
<p>Should the provider not do so within an hour, the access that you gave is handed back, and the account must be connected again.</p>`,
}

/** Neither code nor state was used: the same address may be asked again, for as long as the code lives. */
function waits(ms: number): Answer {
  const retryAfterSeconds = secondsOf(ms)
  return {
    status: 503,
    title: 'Not connected yet',
    body: html`<p>The provider takes no new connections at the moment. Keep this page open: it tries again by itself in ${countOf(retryAfterSeconds, 'second')}.</p>
<p><a href="">Try again now</a></p>`,
    retryAfterSeconds,
    asksAgain: true,
  }
}

function tooMany(ms: number, again: Html): Answer {
  const retryAfterSeconds = secondsOf(ms)
  return {
    status: 429,
    title: 'Too many attempts',
    body: html`<p>Too many installations from your address failed. Nothing was stored. Wait ${countOf(retryAfterSeconds, 'second')}, then start again.</p>
${again}`,
    retryAfterSeconds,
  }
}

function secondsOf(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000))
}

/** What the provider's refusal means for the customer at the page. Its own words are in the log. */
function failed(failure: ProviderFailure, again: Html): Answer {
  switch (failure.class) {
    case 'rejected':
      return {
        status: 422,
        title: 'The provider did not accept the code',
        body: html`<p>It may have expired, or have been used before. Nothing was stored.</p>
${again}`,
      }
    case 'client':
    case 'unauthorized':
    case 'forbidden':
      return {
        status: 502,
        title: 'The provider does not accept this app',
        body: html`<p>Nothing was stored, and trying again will not help. The operator of this server must check the client id, the client secret and the redirect address in its configuration.</p>`,
      }
    case 'transient':
    case 'parked': {
      const retryAfterSeconds = secondsOf(failure.retryAfterMs ?? 30_000)
      return {
        status: 503,
        title: 'The provider does not answer',
        body: html`<p>Nothing was stored. Wait a moment before you start again.</p>
${again}`,
        retryAfterSeconds,
      }
    }
  }
}

/** The install page connects any account: no way on for who came by a link for one. */
function startAgain({ state }: Redirect): Html {
  return isOfReconnectLink(state)
    ? html`<p>To start again, open the link that was sent to you.</p>`
    : html`<p><a href="/install">Start again</a></p>`
}
