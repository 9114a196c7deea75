import type { TokenAnswer } from '../../src/provider/answers.ts'
import { classifyError } from '../../src/provider/classify.ts'
import type { ProviderClient } from '../../src/provider/client.ts'
import type { CrmResult, FailureClass, ProviderFailure } from '../../src/provider/failure.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { namedCall } from './limits-calls.ts'

/** A provider that does what a test says by then; whatever a test doesn't say is not to be called. */
export interface FakeProvider extends ProviderClient {
  /** Each call so far: its name and, in clear text, its arguments. */
  readonly calls: string[][]
}

/** Answers of the limits endpoints: values are bodies as the provider sends them. */
interface FakeReports {
  associations(token: Secret, from: string, to: string): Promise<CrmResult<object>>
  customProperties(token: Secret): Promise<CrmResult<object>>
  associationSources(token: Secret): Promise<CrmResult<readonly object[]>>
  associationTargets(token: Secret, from: string): Promise<CrmResult<readonly object[]>>
  /** Any of the others, by its name. */
  report(token: Secret, name: string): Promise<CrmResult<object>>
}

export type FakeAnswers = Partial<Omit<ProviderClient, 'limits'> & FakeReports>

export function fakeProvider(does: FakeAnswers): FakeProvider {
  const calls: string[][] = []
  const one =
    <A extends unknown[], R>(name: string, work: () => ((...args: A) => Promise<R>) | undefined) =>
    async (...args: A): Promise<R> => {
      calls.push([name, ...args.map((arg) => (arg instanceof Secret ? arg.reveal() : String(arg)))])
      const answer = work()
      if (answer === undefined) throw new Error(`${name} was not to be called`)
      return answer(...args)
    }
  return {
    calls,
    exchangeCode: one('exchangeCode', () => does.exchangeCode),
    refresh: one('refresh', () => does.refresh),
    metadata: one('metadata', () => does.metadata),
    deleteRefreshToken: one('deleteRefreshToken', () => does.deleteRefreshToken),
    limits: async (token, { path, read }) => {
      const [name, ...args] = namedCall(path)
      const work = does[name as keyof FakeReports] as Answering | undefined
      const other: Answering | undefined =
        does.report && ((token) => does.report?.(token, name) as ReturnType<Answering>)
      try {
        const result = await one(name, () => work ?? other)(token, ...args)
        if (!result.ok) return result
        const value = Buffer.isBuffer(result.value) ? result.value : bodyOf(result.value)
        return readAnswer({ ...result, value }, read)
      } catch (error) {
        return { ok: false, failure: bug(error) }
      }
    },
    close: async () => {},
  }
}

/** What a test did not say fails like this, and what it then expects does not come. */
function bug(error: unknown): ProviderFailure {
  return { class: 'transient', code: 'bug', message: String(error), status: 0 }
}

type Answering = (token: Secret, ...args: string[]) => Promise<CrmResult<object | readonly object[] | Buffer>>

/** Companions have their list under `results`. */
function bodyOf(value: object | readonly object[]): Buffer {
  return Buffer.from(JSON.stringify(Array.isArray(value) ? { results: value } : value))
}

function readAnswer<T>(result: { ok: true; value: Buffer }, read: (body: Buffer) => T): CrmResult<T> {
  try {
    return { ...result, value: read(result.value) }
  } catch (error) {
    return { ok: false, failure: classifyError(error) }
  }
}

/** A refresh whose answer comes when the test says so. */
export function slowAnswer() {
  const asked = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<Awaited<ReturnType<ProviderClient['refresh']>>>()
  const refresh: ProviderClient['refresh'] = () => {
    asked.resolve()
    return answer.promise
  }
  return { refresh, asked: asked.promise, answer: answer.resolve }
}

export function tokens(
  accessToken: string,
  refreshToken?: string,
  lifetimeMs = 1_800_000,
): { ok: true; value: TokenAnswer } {
  const refresh = refreshToken === undefined ? undefined : new Secret(refreshToken)
  return { ok: true, value: { accessToken: new Secret(accessToken), refreshToken: refresh, lifetimeMs } }
}

/** An answer of a limits endpoint, and a refusal, as a provider of a test gives them. */
export const reads = (value: object) => async () => ({ ok: true as const, value })
export const fails = (...how: Parameters<typeof failure>) => {
  const failed = failure(...how)
  return async () => failed
}

export function failure(
  kind: FailureClass,
  more: Partial<ProviderFailure> = {},
): { ok: false; failure: ProviderFailure } {
  return { ok: false, failure: { class: kind, code: kind, message: `the provider says ${kind}`, status: 400, ...more } }
}
