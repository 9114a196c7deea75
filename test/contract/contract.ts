import { onTestFinished } from 'vitest'
import { createProviderClient, type ProviderClient, type ProviderOptions } from '../../src/provider/client.ts'
import type { DialectName } from '../../src/provider/dialects.ts'
import type { ProviderFailure, ProviderResult } from '../../src/provider/failure.ts'
import { Secret } from '../../src/runtime/secret.ts'
import type { Fault } from '../../src/sandbox/faults.ts'
import type { SandboxOptions } from '../../src/sandbox/sandbox.ts'
import { CLIENT, HUB, REDIRECT_URI, type Visit, visit } from '../sandbox/visit.ts'
import { type ReadingMethods, readingClient } from '../support/limits-calls.ts'

/** One sentence of the contract with the provider, true in both dialects. */
export interface ContractCase {
  says: string
  /** What the sandbox must be like for it. */
  sandbox?: Partial<SandboxOptions>
  run(contract: Contract): Promise<void>
}

/** The client, with a method for each limits endpoint, whose reports are read as soon as they come. */
export interface ReadingClient extends Omit<ProviderClient, 'limits'>, ReadingMethods {}

export interface Contract extends Pick<Visit, 'sandbox' | 'clock' | 'call' | 'journal'> {
  dialect: DialectName
  /** The daemon's client, as the daemon makes it. */
  client: ReadingClient
  /** Another one, for this same sandbox. */
  otherClient(options: Partial<ProviderOptions>): ReadingClient
  approve(hubId?: number, scopes?: string): Promise<Secret>
  connect(hubId?: number, scopes?: string): Promise<{ access: Secret; refresh: Secret }>
  fault(fault: Fault): Promise<void>
  /** What the account's report is from now on, to the letter if it is text. */
  report(path: string, body: unknown): Promise<void>
  /** Every failure that any client of this contract returned. */
  failures: ProviderFailure[]
  /** All that must stand in no failure: whatever was sent or given out. */
  secrets(): string[]
}

export const NOBODY = new Secret('na1-nobody-00000000-0000')

export async function openContract(dialect: DialectName, options: Partial<SandboxOptions> = {}): Promise<Contract> {
  const { sandbox, clock, call, journal, approve } = await visit(options)
  const failures: ProviderFailure[] = []
  const sent = new Set<Secret>()

  const otherClient: Contract['otherClient'] = (more) => {
    const client = createProviderClient({
      dialect,
      baseUrl: sandbox.url,
      clientId: CLIENT.client_id,
      clientSecrets: [new Secret(CLIENT.client_secret)],
      redirectUri: REDIRECT_URI,
      timeoutMs: 10_000,
      connections: 4,
      clock,
      ...more,
    })
    onTestFinished(() => client.close())
    for (const secret of more.clientSecrets ?? []) sent.add(secret)
    return watched(client, sent, failures)
  }
  const client = otherClient({})
  const approved = async (hubId?: number, scopes?: string) => new Secret(await approve(hubId, scopes))

  return {
    dialect,
    sandbox,
    clock,
    call,
    journal,
    client,
    otherClient,
    failures,
    approve: approved,
    connect: async (hubId, scopes) => {
      const { accessToken, refreshToken } = good(await client.exchangeCode(await approved(hubId, scopes)))
      if (refreshToken === undefined) throw new Error('the sandbox gave no refresh token')
      return { access: accessToken, refresh: refreshToken }
    },
    fault: async (fault) => expectStatus(await call('POST', '/sandbox/faults', fault), 201),
    report: async (path, body) => {
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      const url = `${sandbox.url}/sandbox/accounts/${HUB}/${path}`
      expectStatus(await fetch(url, { method: 'PUT', body: text }), 204)
    },
    secrets: () => [...sandbox.issuedTokens(), CLIENT.client_secret, ...[...sent].map((secret) => secret.reveal())],
  }
}

/** The same client; what is handed to it, and how it fails, is noted. */
function watched(client: ProviderClient, sent: Set<Secret>, failures: ProviderFailure[]): ReadingClient {
  const noted =
    <A extends unknown[], T>(call: (...args: A) => Promise<ProviderResult<T>>) =>
    async (...args: A): Promise<ProviderResult<T>> => {
      for (const arg of args) if (arg instanceof Secret) sent.add(arg)
      const result = await call(...args)
      if (!result.ok) failures.push(result.failure)
      return result
    }
  const limits = readingClient(client)
  return {
    exchangeCode: noted((code) => client.exchangeCode(code)),
    refresh: noted((token) => client.refresh(token)),
    metadata: noted((token) => client.metadata(token)),
    deleteRefreshToken: noted((token) => client.deleteRefreshToken(token)),
    associations: noted((token, from, to) => limits.associations(token, from, to)),
    customProperties: noted((token) => limits.customProperties(token)),
    associationSources: noted((token) => limits.associationSources(token)),
    associationTargets: noted((token, from) => limits.associationTargets(token, from)),
    close: () => client.close(),
  }
}

function expectStatus({ status }: Response, expected: number): void {
  if (status !== expected) throw new Error(`the sandbox answered ${status}, not ${expected}`)
}

export function good<T>(result: ProviderResult<T>): T {
  if (!result.ok) throw new Error(`unexpected: ${result.failure.message}`)
  return result.value
}

export function bad(result: ProviderResult<unknown>): ProviderFailure {
  if (result.ok) throw new Error('unexpected: the call succeeded')
  return result.failure
}

/** `from` without the field at `path`, such as `byObjectType[0].usage`. */
export function without(from: object, path: string): object {
  const copy = structuredClone(from)
  const steps = path.match(/[^.[\]]+/g) ?? []
  const last = steps.pop() ?? ''
  const holder = steps.reduce<Record<string, unknown>>(
    (at, step) => at[step] as Record<string, unknown>,
    copy as Record<string, unknown>,
  )
  if (!Object.hasOwn(holder, last)) throw new Error(`there is no ${path}`)
  delete holder[last]
  return copy
}

/** `from` with fields that nobody knows in every object of it. */
export function withExtras(from: object): object {
  const extras = { zzUnknown: { nested: [1, null] }, appInstallId: 12, isServiceAccount: false }
  return JSON.parse(JSON.stringify(from), (_key, value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value, ...extras } : value,
  )
}
