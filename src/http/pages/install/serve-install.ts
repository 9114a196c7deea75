import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import {
  accountOfState,
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
import { type Client, clientOf, networkOf } from '../../access/client.ts'
import type { Brand } from '../../brand.ts'
import { requireRedis } from '../../redis-away.ts'
import type { WebDeps } from '../../web-deps.ts'
import { customerPage, sendPage } from '../page.ts'
import { afterInstallUrl } from './after-install.ts'
import {
  answerInstall,
  BAD_LINKS,
  type CallbackOutcome,
  type InstallAnswer,
  type InstallSubject,
  nameForCustomer,
  PREFETCH,
} from './install-answer.ts'

type InstallParts = Pick<
  WebDeps,
  'install' | 'afterInstall' | 'connect' | 'connected' | 'brand' | 'store' | 'metrics' | 'clock' | 'log'
> & {
  refusedCodes: RefusedCodes
}

/** Failed installs that are logged, a minute. */
const MOST_LINES = 60

/** The two addresses that a customer sees: where an install begins, and where the provider sends them back to. */
export function serveInstall(app: FastifyInstance, deps: InstallParts): void {
  const { install, afterInstall, connect, brand, store, clock, refusedCodes } = deps
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
    if (isPrefetch(request)) return send(reply, brand, PREFETCH)
    await requireRedis(store)
    const [client, redirect] = [clientOf(request), redirectOf(request)]
    const flow = flowOf(redirect, install.marketplaceInstall)
    if (flow.is === 'authorize') {
      const state = newInstallState(connect.vault, clock.now())
      return reply.redirect(withParameter(flow.returnUrl, 'state', state), 302)
    }
    const waitMs = refusedCodes.waitMs(client, clock.now())
    const outcome: CallbackOutcome = waitMs > 0 ? { is: 'too-many', waitMs } : await finish(connect, flow, redirect)
    if (isRefusedCode(outcome)) refusedCodes.add(client, clock.now())
    if (outcome.is !== 'shown-again' && outcome.is !== 'under-way') noteInstall(deps, quota, outcome, client)
    if ('scopes' in outcome || (outcome.is === 'other-account' && outcome.isReconnected))
      await wakePollers(deps, outcome.hubId)
    // Without this the customer is sent here again and again.
    if ('returnUrl' in flow && isDone(outcome)) return reply.redirect(flow.returnUrl, 302)
    const success = successOf(outcome)
    if (afterInstall !== undefined && success !== undefined)
      return reply.redirect(afterInstallUrl(afterInstall, success, clock.now()), 302)
    return send(reply, brand, answerInstall(outcome, clock.now(), await subjectOf(deps, redirect.state)))
  })
}

/** Browsers and link scanners that read ahead: `prefetch`, `prefetch;prerender`, and the older header. */
function isPrefetch({ headers }: FastifyRequest): boolean {
  return [headers['sec-purpose'], headers.purpose].some((purpose) => /^\s*prefetch\b/i.test(String(purpose ?? '')))
}

async function finish(connect: InstallParts['connect'], flow: Flow, redirect: Redirect): Promise<CallbackOutcome> {
  if (flow.is === 'not-taken') return flow
  return flow.is === 'marketplace' ? finishMarketplaceInstall(connect, redirect.code) : finishInstall(connect, redirect)
}

/** Nothing is left for the customer to do. */
function isDone(outcome: CallbackOutcome): boolean {
  const shown = outcome.is === 'shown-again' ? outcome.success : outcome
  return shown.is === 'connected' || shown.is === 'reconnected' || shown.is === 'parked'
}

/** The account that is connected now, also where its page is loaded again. */
function successOf(outcome: CallbackOutcome) {
  const shown = outcome.is === 'shown-again' ? outcome.success : outcome
  return shown.is === 'connected' || shown.is === 'reconnected' ? shown : undefined
}

/**
 * The name of an account goes only to the holder of a state that was signed for that account: no other caller may learn the
 * name behind an id.
 */
async function subjectOf(
  { connect, install, store, brand: { name: app = 'the app' }, clock }: InstallParts,
  state: string | undefined,
): Promise<InstallSubject> {
  const now = clock.now()
  const hubId = accountOfState(connect.vault, state, now)
  if (hubId === undefined) return { app, state }
  const domain = await store.hget(connect.keys.account(hubId).account, 'hubDomain').catch(() => null)
  const url = beginInstall(connect.vault, install, now, hubId)
  return { app, state, only: { account: nameForCustomer(hubId, domain ?? ''), url } }
}

function redirectOf(request: FastifyRequest): CallbackParameters {
  const { code, state, error, step, returnUrl } = request.query as Record<string, unknown>
  return {
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
  return sendPage(reply, status, customerPage(brand, { title, body, ...refresh }))
}

type EndedInstall = Exclude<CallbackOutcome, { is: 'shown-again' | 'under-way' }>

/** Counts an install that came to its end; one that failed is a line of the log. */
function noteInstall(
  { metrics, clock, log }: Pick<InstallParts, 'metrics' | 'clock' | 'log'>,
  quota: LineQuota,
  outcome: EndedInstall,
  from: Client,
): void {
  const result = resultOf(outcome)
  metrics.installs.inc({ outcome: result })
  if (result === 'connected' || result === 'reconnected') return
  const unlogged = quota.take(clock.now())
  if (unlogged === undefined) return
  const facts = { outcome: result, address: from.forwardedFor ?? from.peer, reason: reasonOf(outcome), unlogged }
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
    return causeOf(outcome.failure) === 'credentials' ? `${message}: ${CHECK_CREDENTIALS}` : message
  }
  if (outcome.is === 'other-account') return `account ${outcome.hubId} was chosen, not ${outcome.wanted}`
  if (outcome.is === 'not-taken') return NOT_TAKEN[outcome.why]
  return outcome.is === 'refused' ? cleanText(outcome.reason, 80) : undefined
}

const CHECK_CREDENTIALS = 'check provider.clientId, provider.clientSecret and provider.redirectUri'
const NOT_TAKEN = {
  setting: 'a marketplace install, which provider.marketplaceInstall does not allow',
  address: "a marketplace install whose returnUrl does not lead to the provider's site",
} as const

const WINDOW_MS = 60_000
const MOST_REFUSED = 10
/** Remembered at most: a flood from many must not fill the memory. */
const MOST_COUNTED = 10_000

/**
 * Counts the codes that the provider refused, by client address, a minute at a time. A client that makes up an address gets
 * another count, and is held up by the share of the token endpoint that all codes have.
 */
export class RefusedCodes {
  readonly #counts = new Map<string, { count: number; until: number }>()

  /** How long they have to wait before they may send another one, ms; 0: not at all. */
  waitMs(client: Client, now: number): number {
    const found = this.#counts.get(keyOf(client))
    return found === undefined || found.count < MOST_REFUSED ? 0 : leftOf(found, now)
  }

  add(client: Client, now: number): void {
    const key = keyOf(client)
    const found = this.#counts.get(key)
    if (found !== undefined && leftOf(found, now) > 0) {
      found.count++
      return
    }
    this.#counts.delete(key)
    const [oldest] = this.#counts.keys()
    if (this.#counts.size >= MOST_COUNTED && oldest !== undefined) this.#counts.delete(oldest)
    this.#counts.set(key, { count: 1, until: now + WINDOW_MS })
  }
}

/** A clock that was set back must not keep customers out. */
function leftOf({ until }: { until: number }, now: number): number {
  return until - now > WINDOW_MS ? 0 : Math.max(0, until - now)
}

/** With the peer: a direct client must not use up the share of one behind the proxy. */
function keyOf({ peer, forwardedFor }: Client): string {
  return `${networkOf(peer)} for ${forwardedFor === undefined ? '' : networkOf(forwardedFor)}`
}
