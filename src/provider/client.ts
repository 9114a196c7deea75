import type { Clock } from '../runtime/clock.ts'
import { redactUrls } from '../runtime/logger.ts'
import { type Secret, withoutSecrets } from '../runtime/secret.ts'
import {
  type AssociationReport,
  type BusyObjectType,
  type CustomPropertyReport,
  readAssociationReport,
  readBusyObjectTypes,
  readCustomPropertyReport,
  readMetadata,
  readTokenAnswer,
  type TokenAnswer,
  type TokenMetadata,
} from './answers.ts'
import { classifyAnswer, classifyError, type Family } from './classify.ts'
import { type AppCredentials, DIALECTS, type DialectName } from './dialects.ts'
import { type AccountBucket, type CrmResult, failed, type ProviderResult, readAccountBucket } from './failure.ts'
import { createHttpClient, type HttpRequest, type HttpResponse } from './http.ts'
import { ClockSkew, classOfError, classOfStatus, type ObservedCall, type ProviderEndpoint } from './observed-call.ts'
import { parseJson, Unread, UnreadableError } from './read.ts'

/** The remote interface: one call per endpoint, each tried once. A failure is a value; nothing here throws for one. */
export interface ProviderClient {
  /** Interface 4.1. `lifetimeMs` of the answer counts from when the request was sent. */
  exchangeCode(code: Secret): Promise<ProviderResult<TokenAnswer>>
  /** Interface 4.2. */
  refresh(refreshToken: Secret): Promise<ProviderResult<TokenAnswer>>
  /** Interface 4.3. */
  metadata(accessToken: Secret): Promise<ProviderResult<TokenMetadata>>
  /** Interface 4.4. A token that the provider doesn't know (any more) counts as deleted. */
  deleteRefreshToken(refreshToken: Secret): Promise<ProviderResult<'deleted' | 'was-gone'>>
  /** Interface 4.5: one direction of a pair. */
  associations(accessToken: Secret, from: string, to: string): Promise<CrmResult<AssociationReport>>
  associations(
    accessToken: Secret,
    from: string,
    to: string,
    how: 'unread',
  ): Promise<CrmResult<Later<AssociationReport>>>
  /** Interface 4.6. */
  customProperties(accessToken: Secret): Promise<CrmResult<CustomPropertyReport>>
  customProperties(accessToken: Secret, how: 'unread'): Promise<CrmResult<Later<CustomPropertyReport>>>
  /** The object types that have records at or near a limit of associations from them. Not in every provider. */
  associationSources(accessToken: Secret): Promise<CrmResult<BusyObjectType[]>>
  /** Of one object type: those to which it has records at or near their limit. Not in every provider. */
  associationTargets(accessToken: Secret, from: string): Promise<CrmResult<BusyObjectType[]>>
  /** How far the provider's clock is ahead of ours, ms, to about a second; undefined before the first answer. */
  skewMs(): number | undefined
  close(): Promise<void>
}

/** An answer that the caller parses when it needs it. */
export type Later<T> = T | Unread<T>

/** The client and its credentials, which a reload may change. */
export interface ConfiguredClient extends ProviderClient {
  readonly app: AppIdentity
  /** Other credentials of the app, from the next call on. */
  replaceApp(app: AppIdentity): void
}

export interface AppIdentity {
  clientId: string
  clientSecret: Secret
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
}

const MAX_ANSWER_BYTES = 2_000_000

export function createProviderClient(options: ProviderOptions): ConfiguredClient {
  const http = createHttpClient({ ...options, maxAnswerBytes: MAX_ANSWER_BYTES })
  const dialect = DIALECTS[options.dialect]
  const skew = new ClockSkew()
  let identity: AppIdentity = { clientId: options.clientId, clientSecret: options.clientSecret }
  const app = (): AppCredentials => ({ clientId: identity.clientId, clientSecret: identity.clientSecret.reveal() })

  async function call<T>(
    endpoint: ProviderEndpoint,
    family: Family,
    request: HttpRequest,
    secrets: readonly Secret[],
    read: (body: Buffer) => T,
    hear?: (headers: HttpResponse['headers']) => void,
  ): Promise<ProviderResult<T>> {
    const sentAt = options.clock.now()
    // The one that this call goes out with: it may be another one by the time of the answer.
    const { clientSecret } = identity
    let answer: HttpResponse
    try {
      answer = await http.send(request)
    } catch (error) {
      options.observe?.({ endpoint, class: classOfError(error), ms: options.clock.now() - sentAt })
      return failed(classifyError(error))
    }
    const answeredAt = options.clock.now()
    options.observe?.({ endpoint, class: classOfStatus(answer.status), ms: answeredAt - sentAt })
    try {
      skew.note(answer.headers.date, sentAt, answeredAt)
      hear?.(answer.headers)
      if (answer.status >= 200 && answer.status < 300) return { ok: true, value: read(answer.body) }
      const clean = (text: string) => withoutSecrets(redactUrls(text), ...secrets, clientSecret)
      return failed(classifyAnswer(family, answer, answeredAt, clean))
    } catch (error) {
      return failed(classifyError(error))
    }
  }

  /** A call of an account's own bucket: it hands on the answer's headers about it. */
  async function crm<T>(
    endpoint: ProviderEndpoint,
    request: HttpRequest,
    token: Secret,
    read: (body: Buffer) => T,
  ): Promise<CrmResult<T>> {
    let bucket: AccountBucket | undefined
    const result = await call(endpoint, 'crm', request, [token], read, (headers) => {
      bucket = readAccountBucket(headers)
    })
    return bucket === undefined ? result : { ...result, bucket }
  }

  /** A report, read now or when it is needed. */
  function report<T>(
    endpoint: ProviderEndpoint,
    request: HttpRequest,
    token: Secret,
    read: (json: unknown) => T,
    how?: 'unread',
  ): Promise<CrmResult<Later<T>>> {
    return how === 'unread'
      ? crm(endpoint, request, token, (body) => new Unread(body, read))
      : crm(endpoint, request, token, (body) => read(parseJson(body)))
  }

  function associations(token: Secret, from: string, to: string): Promise<CrmResult<AssociationReport>>
  function associations(
    token: Secret,
    from: string,
    to: string,
    how?: 'unread',
  ): Promise<CrmResult<Later<AssociationReport>>>
  function associations(token: Secret, from: string, to: string, how?: 'unread') {
    return report('associations', dialect.associations(token.reveal(), from, to), token, readAssociationReport, how)
  }

  function customProperties(token: Secret): Promise<CrmResult<CustomPropertyReport>>
  function customProperties(token: Secret, how?: 'unread'): Promise<CrmResult<Later<CustomPropertyReport>>>
  function customProperties(token: Secret, how?: 'unread') {
    return report('customProperties', dialect.customProperties(token.reveal()), token, readCustomPropertyReport, how)
  }

  function busy(endpoint: ProviderEndpoint, request: HttpRequest, token: Secret): Promise<CrmResult<BusyObjectType[]>> {
    return crm(endpoint, request, token, (body) => readBusyObjectTypes(parseJson(body)))
  }

  function grant(form: Record<string, string>, secret: Secret): Promise<ProviderResult<TokenAnswer>> {
    const { clientId, clientSecret } = app()
    const full = { ...form, client_id: clientId, client_secret: clientSecret }
    return call('token', 'token', dialect.token(full), [secret], (body) => readTokenAnswer(parseJson(body)))
  }

  return {
    get app() {
      return identity
    },
    replaceApp: ({ clientId, clientSecret }) => {
      identity = { clientId, clientSecret }
    },
    exchangeCode: (code) =>
      grant({ grant_type: 'authorization_code', code: code.reveal(), redirect_uri: options.redirectUri }, code),
    refresh: (token) => grant({ grant_type: 'refresh_token', refresh_token: token.reveal() }, token),
    metadata: (token) =>
      call('metadata', dialect.metadataFamily, dialect.metadata(token.reveal(), app()), [token], (body) =>
        readActiveMetadata(parseJson(body)),
      ),
    deleteRefreshToken: async (token) => {
      const request = dialect.deleteRefreshToken(token.reveal(), app())
      const result = await call('delete', 'token', request, [token], () => 'deleted' as const)
      return result.ok ? result : deletedAnyway(result)
    },
    associations,
    customProperties,
    associationSources: (token) => busy('associationSources', dialect.associationSources(token.reveal()), token),
    associationTargets: (token, from) =>
      busy('associationTargets', dialect.associationTargets(token.reveal(), from), token),
    skewMs: () => skew.ms,
    close: () => http.close(),
  }
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
  const { status, class: kind } = result.failure
  return status === 404 || kind === 'rejected' ? { ok: true, value: 'was-gone' } : result
}
