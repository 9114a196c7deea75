import type { TokenAnswer } from '../../src/provider/answers.ts'
import type { ProviderClient } from '../../src/provider/client.ts'
import type { FailureClass, ProviderFailure } from '../../src/provider/failure.ts'
import { Secret } from '../../src/runtime/secret.ts'

/** A provider that does what a test says; whatever a test doesn't say is not to be called. */
export interface FakeProvider extends ProviderClient {
  /** Each call so far: its name and, in clear text, its arguments. */
  readonly calls: string[][]
}

export function fakeProvider(does: Partial<ProviderClient>): FakeProvider {
  const calls: string[][] = []
  const one =
    <A extends unknown[], R>(name: string, work: ((...args: A) => Promise<R>) | undefined) =>
    async (...args: A): Promise<R> => {
      calls.push([name, ...args.map((arg) => (arg instanceof Secret ? arg.reveal() : String(arg)))])
      if (work === undefined) throw new Error(`${name} was not to be called`)
      return work(...args)
    }
  return {
    calls,
    exchangeCode: one('exchangeCode', does.exchangeCode),
    refresh: one('refresh', does.refresh),
    metadata: one('metadata', does.metadata),
    deleteRefreshToken: one('deleteRefreshToken', does.deleteRefreshToken),
    associations: one('associations', does.associations),
    customProperties: one('customProperties', does.customProperties),
    associationSources: one('associationSources', does.associationSources),
    associationTargets: one('associationTargets', does.associationTargets),
    skewMs: () => undefined,
    close: async () => {},
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

export function failure(
  kind: FailureClass,
  more: Partial<ProviderFailure> = {},
): { ok: false; failure: ProviderFailure } {
  return { ok: false, failure: { class: kind, code: kind, message: `the provider says ${kind}`, status: 400, ...more } }
}
