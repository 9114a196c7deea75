import { onTestFinished } from 'vitest'
import type { JournalEntry } from '../../src/sandbox/journal.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/sandbox.ts'
import { HandClock } from './hand-clock.ts'

export const CLIENT = { client_id: 'sandbox-client-id', client_secret: 'sandbox-client-secret' }
export const REDIRECT_URI = 'http://127.0.0.1:9/oauth/callback'
export const SCOPES = 'oauth crm.objects.contacts.read'
export const HUB = 1_000_001

export interface Tokens {
  token_type: string
  access_token: string
  refresh_token: string
  expires_in: number
}

/** A sandbox of a test's own, with the clock in its hand, and what a visitor of it does all the time. */
export interface Visit {
  sandbox: Sandbox
  clock: HandClock
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>
  approve(hubId?: number, scopes?: string): Promise<string>
  /** The answer to a form with the app's credentials. */
  form(path: string, fields: Record<string, string>): Promise<Response>
  redeem(code: string): Promise<Response>
  refresh(refreshToken: string): Promise<Response>
  connect(hubId?: number, scopes?: string): Promise<Tokens>
  read(path: string, accessToken: string): Promise<Response>
  journal(query?: string): Promise<JournalEntry[]>
}

export async function visit(options: Partial<SandboxOptions> = {}): Promise<Visit> {
  const clock = new HandClock()
  const sandbox = await startSandbox(
    {
      port: 0,
      smtpPort: 0,
      accounts: 3,
      tokenLifetimeMs: 30 * 60_000,
      rotateRefreshTokens: false,
      scenario: 'steady',
      clientId: CLIENT.client_id,
      clientSecret: CLIENT.client_secret,
      ...options,
    },
    clock,
  )
  onTestFinished(() => sandbox.close())

  const call: Visit['call'] = (method, path, body, headers = {}) =>
    fetch(`${sandbox.url}${path}`, {
      method,
      redirect: 'manual',
      headers,
      ...(body !== undefined && { body: body instanceof URLSearchParams ? body : JSON.stringify(body) }),
    })
  const form: Visit['form'] = (path, fields) => call('POST', path, new URLSearchParams({ ...fields, ...CLIENT }))
  const redeem: Visit['redeem'] = (code) =>
    form('/oauth/v1/token', { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI })
  const approve: Visit['approve'] = async (hubId = HUB, scopes = SCOPES) => {
    const query = new URLSearchParams({
      client_id: CLIENT.client_id,
      redirect_uri: REDIRECT_URI,
      scopes,
      account: String(hubId),
    })
    const answer = await call('POST', `/oauth/authorize?${query}`)
    return new URL(answer.headers.get('location') ?? '').searchParams.get('code') ?? ''
  }
  return {
    sandbox,
    clock,
    call,
    form,
    approve,
    redeem,
    refresh: (refreshToken) => form('/oauth/v1/token', { grant_type: 'refresh_token', refresh_token: refreshToken }),
    connect: async (hubId, scopes) => (await (await redeem(await approve(hubId, scopes))).json()) as Tokens,
    read: (path, accessToken) => call('GET', path, undefined, { authorization: `Bearer ${accessToken}` }),
    journal: async (query = '') => (await (await call('GET', `/sandbox/requests${query}`)).json()) as JournalEntry[],
  }
}

export const CUSTOM_PROPERTIES = '/crm/v3/limits/custom-properties'
export const ASSOCIATIONS = '/crm/v3/limits/associations/records/0-1/0-2'

export function metadataPath(accessToken: string): string {
  return `/oauth/v1/access-tokens/${encodeURIComponent(accessToken)}`
}

export function refreshTokenPath(refreshToken: string): string {
  return `/oauth/v1/refresh-tokens/${encodeURIComponent(refreshToken)}`
}
