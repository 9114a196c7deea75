import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import {
  beginAgain,
  beginInstall,
  finishInstall,
  finishMarketplaceInstall,
  newInstallState,
  type Redirect,
  readReconnectLink,
} from '../../../accounts/install.ts'
import { type CallbackParameters, type Flow, flowOf } from '../../../accounts/marketplace.ts'
import { LineQuota } from '../../../runtime/logger.ts'
import type { InstallResult } from '../../../runtime/metrics.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { withParameter } from '../../../text/provider-site.ts'
import { causeOf } from '../../../tokens/endpoint/breaker.ts'
import { clientOf, networkOf } from '../../access/client.ts'
import type { Brand } from '../../brand.ts'
import { requireRedis } from '../../redis-away.ts'
import type { WebDeps } from '../../web-deps.ts'
import { plainPage, sendPage } from '../page.ts'
import { afterInstallUrl } from './after-install.ts'
import {
  answerInstall,
  BAD_LINKS,
  type CallbackOutcome,
  type InstallAnswer,
  type InstallSubject,
  nameForCustomer,
} from './install-answer.ts'

type InstallParts = Pick<
  WebDeps,
  'install' | 'afterInstall' | 'connect' | 'connected' | 'brand' | 'store' | 'metrics' | 'clock' | 'log'
>

/** Failed installs that are logged, a minute. */
const MOST_LINES = 60

/** The two addresses that a customer sees: where an install begins, and where the provider sends them back to. */
export function serveInstall(app: FastifyInstance, deps: InstallParts): void {
  const { install, afterInstall, connect, brand, store, clock } = deps
  const quota = new LineQuota(MOST_LINES)
  // Not for HEAD: checking an address must not use it up.
  app.get('/install', { exposeHeadRoute: false }, async (request, reply) => {
    const link = readReconnectLink(connect.vault, request.query as object, clock.now())
    if (link.is === 'expired' || link.is === 'forged') return send(reply, brand, BAD_LINKS[link.is])
    // The callback needs it: no customer should grant tokens that can't be stored.
    await requireRedis(store)
    const only = link.is === 'good' ? link.hubId : undefined
    return reply.redirect(beginInstall(connect.vault, install, clock.now(), only), 302)
  })
  app.get('/oauth/callback', { exposeHeadRoute: false }, async (request, reply) => {
    await requireRedis(store)
    const redirect = redirectOf(request)
    const flow = flowOf(redirect, install.marketplaceInstall)
    if (flow.is === 'authorize') {
      return reply.redirect(withParameter(flow.returnUrl, 'state', newInstallState(connect.vault, clock.now())), 302)
    }
    const outcome = await finish(connect, flow, redirect)
    if (outcome.is !== 'shown-again' && outcome.is !== 'under-way') noteInstall(deps, quota, outcome, redirect.from)
    if ('scopes' in outcome || (outcome.is === 'other-account' && outcome.isReconnected))
      await wakePollers(deps, outcome.hubId)
    // Without this the customer is sent here again and again.
    const shown = outcome.is === 'shown-again' ? outcome.success : outcome
    const isConnected = shown.is === 'connected' || shown.is === 'reconnected'
    if ('returnUrl' in flow && (isConnected || shown.is === 'parked')) return reply.redirect(flow.returnUrl, 302)
    if (afterInstall !== undefined && isConnected)
      return reply.redirect(afterInstallUrl(afterInstall, shown, clock.now()), 302)
    return send(reply, brand, answerInstall(outcome, clock.now(), await subjectOf(deps, redirect.state)))
  })
}

async function finish(connect: InstallParts['connect'], flow: Flow, redirect: Redirect): Promise<CallbackOutcome> {
  if (flow.is === 'not-taken') return flow
  return flow.is === 'marketplace' ? finishMarketplaceInstall(connect, redirect) : finishInstall(connect, redirect)
}

/**
 * The name of an account goes only to the holder of a state that was signed for that account: no other caller may learn the
 * name behind an id.
 */
async function subjectOf(
  { connect, install, store, brand: { name: app = 'the app' }, clock }: InstallParts,
  state: string | undefined,
): Promise<InstallSubject> {
  const { hubId, url } = beginAgain(connect.vault, install, state, clock.now()) ?? {}
  if (hubId === undefined || url === undefined) return { app, state }
  const domain = await store.hget(connect.keys.account(hubId).account, 'hubDomain').catch(() => null)
  return { app, state, only: { account: nameForCustomer(hubId, domain ?? ''), url } }
}

function redirectOf(request: FastifyRequest): CallbackParameters & { from: string } {
  const { peer, forwardedFor = peer } = clientOf(request)
  const { code, state, error, step, returnUrl } = request.query as Record<string, unknown>
  return {
    from: networkOf(forwardedFor),
    code: single(code),
    state: single(state),
    error: single(error) || undefined,
    step: single(step),
    returnUrl: single(returnUrl),
  }
}

/** A parameter that is given twice has no value. */
function single(value: unknown): string | undefined {
  return value === undefined || typeof value === 'string' ? value : ''
}

/** The account is stored already: a fault here only delays its first poll to the next sweep. */
async function wakePollers({ connected, log }: InstallParts, hubId: number): Promise<void> {
  try {
    await connected(hubId)
  } catch (error) {
    log.warn({ code: 'http.wake', hubId, err: error }, 'the pollers could not be woken for a new account')
  }
}

function send(reply: FastifyReply, brand: Brand, answer: InstallAnswer): FastifyReply {
  const { status, title, body, retryAfterSeconds, asksAgain } = answer
  if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds))
  const refresh = asksAgain && retryAfterSeconds !== undefined ? { refreshSeconds: retryAfterSeconds } : {}
  return sendPage(reply, status, plainPage({ title, body, ...refresh }, brand))
}

type EndedInstall = Exclude<CallbackOutcome, { is: 'shown-again' | 'under-way' }>

/** Counts an install that came to its end; one that failed is a line of the log. */
function noteInstall(
  { metrics, clock, log }: Pick<InstallParts, 'metrics' | 'clock' | 'log'>,
  quota: LineQuota,
  outcome: EndedInstall,
  from: string,
): void {
  const result = resultOf(outcome)
  metrics.installs.inc({ outcome: result })
  if (result === 'connected' || result === 'reconnected') return
  const unlogged = quota.take(clock.steady())
  if (unlogged === undefined) return
  const facts = { outcome: result, address: from, reason: reasonOf(outcome), unlogged }
  if (result === 'parked')
    log.warn(
      { code: 'install.parked', ...facts },
      'consent given, the provider has not named the account yet: asked again',
    )
  else if (result === 'unstored')
    log.error({ code: 'install.unstored', ...facts }, 'consent given, but Redis refuses writes: finished later')
  else log.warn({ code: 'install.failed', ...facts }, 'an install failed')
}

function resultOf(outcome: EndedInstall): InstallResult {
  if (outcome.is !== 'failed') return outcome.is
  return isRefusedCode(outcome) ? 'rejected' : 'failed'
}

/** The code's fault, not the provider's, by its answer. */
function isRefusedCode(outcome: CallbackOutcome): boolean {
  if (outcome.is !== 'failed' || outcome.step !== 'token') return false
  return outcome.failure.class !== 'transient' && outcome.failure.class !== 'parked'
}

function reasonOf(outcome: CallbackOutcome): string | undefined {
  if ('failure' in outcome) {
    const { message } = outcome.failure
    return causeOf(outcome.failure) === 'credentials'
      ? `${message}: check clientId, clientSecret and redirectUri of provider`
      : message
  }
  if (outcome.is === 'other-account') return `account ${outcome.hubId} was chosen, not ${outcome.wanted}`
  if (outcome.is === 'not-taken') return NOT_TAKEN[outcome.why]
  return outcome.is === 'refused' ? cleanText(outcome.reason, 80) : undefined
}

const NOT_TAKEN = {
  setting: 'a marketplace install, which provider.marketplaceInstall does not allow',
  address: "a marketplace install whose returnUrl does not lead to the provider's site",
} as const
