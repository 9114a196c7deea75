import * as z from 'zod'
import { systemClock } from '../../../runtime/clock.ts'
import type { ProxyFor } from '../../../runtime/outgoing-proxy.ts'
import { Secret } from '../../../runtime/secret.ts'
import type { AttemptOutcome } from '../../receiver.ts'
import { createPost, type PostAnswer, readService } from '../http-post.ts'

/** A login at a mail server by an access token of client credentials. */
export interface TokenLogin {
  user: string
  tokenUrl: string
  clientId: string
  clientSecret: Secret
  scope: string
  proxyFor?: ProxyFor | undefined
}

/** The endpoint gave no access token: this is the outcome of the attempt. */
export class NoAccessToken extends Error {
  readonly outcome: AttemptOutcome

  constructor(outcome: AttemptOutcome) {
    super('reason' in outcome ? outcome.reason : 'no access token')
    this.outcome = outcome
  }
}

type Fetched = { outcome: 'token'; token: Secret; seconds: number }

const TIMEOUT_MS = 10_000
/** A token is asked for so long before its end: a login takes a while. */
const MARGIN_MS = 60_000
/** Lifetime of a token whose answer names none. */
const UNNAMED_SECONDS = 300

export type MailTokens = ReturnType<typeof createMailTokens>

/** Access tokens of one receiver, each used until shortly before its end. */
export function createMailTokens(name: string, login: TokenLogin) {
  const { tokenUrl, clientId, clientSecret, scope, proxyFor } = login
  const { post, close } = createPost<AttemptOutcome | Fetched>(
    { name, proxyFor, url: tokenUrl, repeated: [clientSecret], timeoutMs: TIMEOUT_MS },
    readToken,
  )
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret.reveal(), scope }
  let kept: { token: Secret; until: number } | undefined
  let fetching: Promise<Secret> | undefined
  let fetched = 0

  async function fetchToken(): Promise<Secret> {
    const got = await post({
      body: new URLSearchParams(form).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
      now: systemClock.now(),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    if (got.outcome !== 'token') throw new NoAccessToken(got)
    kept = { token: got.token, until: performance.now() + got.seconds * 1_000 - MARGIN_MS }
    fetched++
    return got.token
  }

  return {
    /** Throws a `NoAccessToken`. */
    async get(isRefused = false): Promise<Secret> {
      if (isRefused) kept = undefined
      if (kept !== undefined && performance.now() < kept.until) return kept.token
      fetching ??= fetchToken().finally(() => {
        fetching = undefined
      })
      return fetching
    },
    drop() {
      kept = undefined
    },
    /** Number of tokens that were got so far. */
    count: () => fetched,
    secrets: (): Secret[] => (kept === undefined ? [clientSecret] : [clientSecret, kept.token]),
    close,
  }
}

const tokenShape = z.object({
  access_token: z.string().min(1),
  expires_in: z.coerce.number().positive().catch(UNNAMED_SECONDS),
})

/** Errors for good: only an operator can correct them. */
const REFUSED =
  /^(invalid_client|unauthorized_client|invalid_scope|invalid_request|invalid_grant|unsupported_grant_type|access_denied)\b/

const meaningOf = readService({ status: [200, 499], says: REFUSED, is: 'final' })

function readToken(answer: PostAnswer): AttemptOutcome | Fetched {
  const isGood = answer.status >= 200 && answer.status < 300
  const token = isGood && !REFUSED.test(answer.says) ? tokenShape.safeParse(parsed(answer.body)).data : undefined
  if (token !== undefined) return { outcome: 'token', token: new Secret(token.access_token), seconds: token.expires_in }
  const outcome = meaningOf(answer)
  if (outcome.outcome === 'delivered')
    return { outcome: 'retry', reason: 'no access token for the mail login: the answer has none' }
  const reason = `no access token for the mail login: ${outcome.reason}`
  return outcome.outcome === 'disable' ? { outcome: 'disable', reason, waits: true } : { outcome: 'retry', reason }
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}
