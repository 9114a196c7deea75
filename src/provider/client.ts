import type { Clock } from '../runtime/clock.ts'
import type { ProxyFor } from '../runtime/outgoing-proxy.ts'
import { Secret, withoutSecrets } from '../runtime/secret.ts'
import { redactUrls } from '../runtime/url-credentials.ts'
import { mayHoldTokens, readMetadata, readTokenAnswer, type TokenAnswer, type TokenMetadata } from './answers.ts'
import { MAX_ANSWER_BYTES } from './bounds.ts'
import { CallError } from './call-error.ts'
import {
  classifyAnswer,
  classifyError,
  classifyPage,
  type Family,
  INTERMEDIARY,
  isPage,
  isSecretRefused,
  UNREADABLE,
} from './classify.ts'
import { type AppCredentials, DIALECTS, type Dialect, type DialectName } from './dialects.ts'
import {
  type CrmResult,
  failed,
  OTHER_DATA_CENTER,
  type ProviderResult,
  readAccountBucket,
  type UnreadAnswer,
} from './failure.ts'
import { createHttpClient, type HttpClient, type HttpRequest, type HttpResponse } from './http.ts'
import { classOfError, classOfStatus, type ObservedCall } from './observed-call.ts'
import { parseJson, UnreadableError } from './read.ts'

/**
 * The remote interface: one call per endpoint, each tried once. A failure is a value; nothing here throws for one. Numbers such as
 * "interface 4.1" are sections of the provider's description of it.
 */
export interface ProviderClient {
  /** POST of the token endpoint with a code (interface 4.1). `lifetimeMs` of the answer counts from when the request was sent. */
  exchangeCode(code: Secret): Promise<ProviderResult<TokenAnswer>>
  /** POST of the token endpoint with a refresh token (interface 4.2). */
  refresh(refreshToken: Secret): Promise<ProviderResult<TokenAnswer>>
  /** GET of an access token's metadata (interface 4.3). */
  metadata(accessToken: Secret): Promise<ProviderResult<TokenMetadata>>
  /** DELETE of a refresh token (interface 4.4). A token that the provider doesn't know (any more) counts as deleted. */
  deleteRefreshToken(refreshToken: Secret): Promise<ProviderResult<'deleted' | 'was-gone'>>
  /** GET of one of the limits endpoints (interface 4.5, 4.6, and their companions). */
  limits<T>(accessToken: Secret, call: LimitsCall<T>): Promise<CrmResult<T>>
  close(): Promise<void>
}

/** A limits endpoint and how its answer is read. */
export interface LimitsCall<T> {
  /** In metrics. */
  endpoint: string
  /** Below the base of the limits endpoints. */
  path: string
  /** @throws UnreadableError */
  read: (body: Buffer) => T
}

/** The client and its credentials, which a reload may change. */
export interface ConfiguredClient extends ProviderClient {
  readonly app: AppIdentity
  /** Another dialect and other credentials of the app, from the next call on. */
  follow(next: AppIdentity & { dialect: DialectName }): void
}

export interface AppIdentity {
  clientId: string
  /** Several while a secret is being changed: where one is refused, the next is tried. */
  clientSecrets: readonly Secret[]
}

export interface ProviderOptions extends AppIdentity {
  dialect: DialectName
  baseUrl: string
  redirectUri: string
  timeoutMs: number
  connections: number
  clock: Clock
  /** Called with each call when it has ended. */
  observe?: (call: ObservedCall) => void
  proxyFor?: ProxyFor | undefined
}

export function createProviderClient(options: ProviderOptions): ConfiguredClient {
  return new HttpProviderClient(options)
}

/** One call: what it is, what is taken out of a refusal's words, how its answer is read. */
interface Call<T> {
  endpoint: string
  family: Family
  request: (app: AppCredentials) => HttpRequest
  secret: Secret
  read: (body: Buffer) => T
}

class HttpProviderClient implements ConfiguredClient {
  readonly #options: ProviderOptions
  readonly #http: HttpClient
  #dialect: Dialect
  #app: AppIdentity
  /** The secret that is tried first: the one that worked last. */
  #secretAt = 0

  constructor(options: ProviderOptions) {
    this.#options = options
    this.#http = createHttpClient({ ...options, maxAnswerBytes: MAX_ANSWER_BYTES })
    this.#dialect = DIALECTS[options.dialect]
    this.#app = { clientId: options.clientId, clientSecrets: options.clientSecrets }
  }

  get app(): AppIdentity {
    return this.#app
  }

  follow({ dialect, clientId, clientSecrets }: AppIdentity & { dialect: DialectName }): void {
    this.#dialect = DIALECTS[dialect]
    this.#app = { clientId, clientSecrets }
    this.#secretAt = 0
  }

  exchangeCode(code: Secret): Promise<ProviderResult<TokenAnswer>> {
    const { redirectUri } = this.#options
    return this.#grant({ grant_type: 'authorization_code', code: code.reveal(), redirect_uri: redirectUri }, code)
  }

  refresh(token: Secret): Promise<ProviderResult<TokenAnswer>> {
    return this.#grant({ grant_type: 'refresh_token', refresh_token: token.reveal() }, token)
  }

  metadata(token: Secret): Promise<ProviderResult<TokenMetadata>> {
    const dialect = this.#dialect
    const { metadataFamily: family } = dialect
    const request = (app: AppCredentials) => dialect.metadata(token.reveal(), app)
    const read = (body: Buffer) => readActiveMetadata(parseJson(body))
    return this.#send({ endpoint: 'metadata', family, request, secret: token, read })
  }

  async deleteRefreshToken(token: Secret): Promise<ProviderResult<'deleted' | 'was-gone'>> {
    const dialect = this.#dialect
    const request = (app: AppCredentials) => dialect.deleteRefreshToken(token.reveal(), app)
    const read = () => 'deleted' as const
    const result = await this.#send({ endpoint: 'delete', family: 'token', request, secret: token, read })
    return result.ok ? result : deletedAnyway(result)
  }

  async limits<T>(secret: Secret, { endpoint, path, read }: LimitsCall<T>): Promise<CrmResult<T>> {
    const request = this.#dialect.limits(secret.reveal(), path)
    const call: Call<T> = { endpoint, family: 'crm', request: () => request, secret, read }
    const { result, answer } = await this.#call(call, this.#app, 0)
    // The answer's headers about the account's own bucket are handed on.
    const bucket = answer && readAccountBucket(answer.headers)
    return bucket === undefined ? result : { ...result, bucket }
  }

  close(): Promise<void> {
    return this.#http.close()
  }

  #grant(form: Record<string, string>, secret: Secret): Promise<ProviderResult<TokenAnswer>> {
    const dialect = this.#dialect
    const request = ({ clientId: client_id, clientSecret: client_secret }: AppCredentials) =>
      dialect.token({ ...form, client_id, client_secret })
    const read = (body: Buffer) => readTokenAnswer(parseJson(body))
    return this.#send({ endpoint: 'token', family: 'token', request, secret, read })
  }

  /** A refused secret redeems nothing: the call is made again with the next one, until each was tried once. */
  async #send<T>(call: Call<T>): Promise<ProviderResult<T>> {
    // The ones of this call: a reload may bring others before the answer.
    const app = this.#app
    const { length } = app.clientSecrets
    const begin = this.#secretAt
    for (let tried = 0; ; tried++) {
      const at = (begin + tried) % length
      const { result } = await this.#call(call, app, at)
      const isLast = tried + 1 >= length || call.family !== 'token'
      if (!result.ok && isSecretRefused(result.failure) && !isLast) continue
      if (result.ok && tried > 0 && app === this.#app) this.#secretAt = at
      return result
    }
  }

  /** The answer beside what was read in it; none where there was none. */
  #call<T>(call: Call<T>, app: AppIdentity, at: number): Promise<{ result: ProviderResult<T>; answer?: HttpResponse }> {
    const { clock, observe } = this.#options
    const { endpoint } = call
    const sentAt = clock.now()
    const { clientId, clientSecrets } = app
    const clientSecret = clientSecrets[at]?.reveal() ?? ''
    return new Promise((resolve) =>
      this.#http.call(call.request({ clientId, clientSecret }), (answer) => {
        const answeredAt = clock.now()
        const ms = answeredAt - sentAt
        if (answer instanceof CallError) {
          observe?.({ endpoint, class: classOfError(answer), ms })
          resolve({ result: failed(classifyError(answer)) })
          return
        }
        observe?.({ endpoint, class: classOfStatus(answer.status), status: answer.status, ms })
        const result = resultOf(call, answer, answeredAt, clientSecrets)
        resolve({
          result: endpoint === 'token' ? withUnread(result, answer, { sent: call.secret, sentAt }) : result,
          answer,
        })
      }),
    )
  }
}

function resultOf<T>(
  { family, secret, read }: Call<T>,
  answer: HttpResponse,
  answeredAt: number,
  clientSecrets: readonly Secret[],
): ProviderResult<T> {
  const clean = (text: string) => withoutSecrets(redactUrls(text), secret, ...clientSecrets)
  if (answer.status < 200 || answer.status >= 300) return failed(classifyAnswer(family, answer, answeredAt, clean))
  if (isPage(answer.body)) return failed(classifyPage(answer, clean))
  try {
    return { ok: true, value: read(answer.body) }
  } catch (error) {
    // An error of OAuth may come with a status of success.
    const failure = error instanceof UnreadableError ? classifyAnswer(family, answer, answeredAt, clean) : undefined
    return failed(failure === undefined || failure.code === INTERMEDIARY ? classifyError(error) : failure)
  }
}

/** An answer that can't be read is handed on, to be kept: the refresh token that was sent may be over. */
function withUnread<T>(
  result: ProviderResult<T>,
  { body }: HttpResponse,
  sent: Pick<UnreadAnswer, 'sent' | 'sentAt'>,
): ProviderResult<T> {
  if (result.ok || result.failure.code !== UNREADABLE || !mayHoldTokens(body)) return result
  return failed({ ...result.failure, unread: { ...sent, body: new Secret(body.toString('base64')) } })
}

/** The successor answers 200 for any token; `active` shows whether it is one. */
function readActiveMetadata(json: unknown): TokenMetadata {
  if (typeof json === 'object' && json !== null && 'active' in json && json.active === false) {
    throw new UnreadableError('the provider reports that the access token is not active')
  }
  return readMetadata(json)
}

/** A deletion may be tried again after its answer was lost: what the token endpoint then doesn't know is gone. */
function deletedAnyway(result: { ok: false } & ProviderResult<'deleted'>): ProviderResult<'deleted' | 'was-gone'> {
  const { status, code, class: kind } = result.failure
  const isUnknown = kind === 'rejected' && code !== OTHER_DATA_CENTER
  return (kind === 'client' && status === 404) || isUnknown ? { ok: true, value: 'was-gone' } : result
}
