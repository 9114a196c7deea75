import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

/** Whoever talks to the sandbox and the daemon from outside: plain HTTP, nothing of ours. */
export interface JournalEntry {
  time: string
  endpoint: string
  hubId: number | null
  status: number
  grant?: string
}

interface Mail {
  subject: string
  text: string
  html: string
  messageId: string
  headers: Record<string, string | string[]>
  raw: string
}

export interface Hook {
  time: string
  headers: Record<string, string>
  rawBody: string
  body: { type: string; data: { truncated: number; alerts: HookAlert[] } }
}

export interface HookAlert {
  id: string
  supersedes?: string[]
  kind: string
  /** Of an alert about all accounts. */
  cause?: string
  status: string
  level: string
  reason: string
  rule: string
  account?: { hubId: number; hubDomain: string }
  message?: string
  measuredAt: string
  series?: { metric: string; objectTypeId?: string; from?: string; to?: string }
  usage?: number
  limit?: number
  percent?: number
}

/** Of every daemon that `writeDaemonConfig` wrote a config for. */
export const ADMIN_TOKEN = 'an-admin-token-for-tests'

/** Asks a daemon as somebody who may do everything; the sandbox asks for no token. */
export function ask(url: string, { headers = {}, ...init }: { headers?: object; method?: string; body?: string } = {}) {
  return fetch(url, { ...init, headers: { authorization: `Bearer ${ADMIN_TOKEN}`, ...headers } })
}

/** The daemon says to try again shortly: Redis is away, or slow on a busy machine. */
class Unavailable extends Error {}

export async function getJson<T>(url: string): Promise<T> {
  const response = await ask(url, { headers: { accept: 'application/json' } })
  if (!response.ok) {
    const Kind = response.status === 503 ? Unavailable : Error
    throw new Kind(`${url} answered ${response.status}: ${await response.text()}`)
  }
  return (await response.json()) as T
}

/** Refreshes an account now; while another refresh of it is under way, after that. */
export async function refreshNow(daemonUrl: string, hubId: number): Promise<void> {
  await eventually(`account ${hubId} refreshed`, async () => {
    const response = await send(`${daemonUrl}/api/v1/accounts/${hubId}/refresh`, 'POST')
    if (response.ok || response.status === 409) return response.ok
    throw new Error(`account ${hubId} was not refreshed: ${response.status} ${await response.text()}`)
  })
}

export const journalOf = (sandboxUrl: string) => getJson<JournalEntry[]>(`${sandboxUrl}/sandbox/requests`)
export const mailsOf = (sandboxUrl: string) => getJson<Mail[]>(`${sandboxUrl}/sandbox/inbox`)
export const hooksOf = (sandboxUrl: string) => getJson<Hook[]>(`${sandboxUrl}/sandbox/hooks`)

/** Through the install link, the provider's page and back, as a customer goes. */
export async function connectAccount(daemonUrl: string, hubId: number, link = '/install'): Promise<Response> {
  const install = await fetch(`${daemonUrl}${link}`, { redirect: 'manual' })
  const page = install.headers.get('location')
  if (page === null) return install
  const approved = await fetch(`${page}&account=${hubId}`, { method: 'POST', redirect: 'manual' })
  return fetch(approved.headers.get('location') ?? '', { redirect: 'manual' })
}

export async function connectAll(daemonUrl: string, hubIds: readonly number[]): Promise<void> {
  const waiting = [...hubIds]
  const lane = async () => {
    for (let hubId = waiting.shift(); hubId !== undefined; hubId = waiting.shift()) {
      const id = hubId
      await eventually(`account ${id} connected`, async () => {
        const { status } = await connectAccount(daemonUrl, id)
        // On a busy machine: the page says to start again, or the request did not come in time.
        if (status !== 200 && status !== 503 && status !== 408)
          throw new Error(`account ${id} could not be connected: ${status}`)
        return status === 200
      })
    }
  }
  await Promise.all(Array.from({ length: 20 }, lane))
}

/** As another tool would have got it: through the install page, with a redirect address of its own. */
export async function refreshTokenFor(sandboxUrl: string, hubId: number): Promise<string> {
  const app = { client_id: 'sandbox-client-id', redirect_uri: 'https://elsewhere.example.com/callback' }
  const query = new URLSearchParams({ ...app, scopes: 'oauth crm.objects.contacts.read', account: String(hubId) })
  const approved = await fetch(`${sandboxUrl}/oauth/authorize?${query}`, { method: 'POST', redirect: 'manual' })
  const code = new URL(approved.headers.get('location') ?? '').searchParams.get('code') ?? ''
  const form = { ...app, client_secret: 'sandbox-client-secret', grant_type: 'authorization_code', code }
  const answer = await fetch(`${sandboxUrl}/oauth/v1/token`, { method: 'POST', body: new URLSearchParams(form) })
  return ((await answer.json()) as { refresh_token: string }).refresh_token
}

export async function hubIdsOf(sandboxUrl: string): Promise<number[]> {
  return (await getJson<{ hubId: number }[]>(`${sandboxUrl}/sandbox/accounts`)).map(({ hubId }) => hubId)
}

export async function send(url: string, method: string, body?: unknown): Promise<Response> {
  return ask(url, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  })
}

/** Reports that keep a level out of reach, or in it. */
export function customProperties(overallUsage: number, overallLimit = 1000): object {
  return {
    overallLimit,
    overallUsage,
    overallPercentage: (overallUsage / overallLimit) * 100,
    byObjectType: [
      {
        objectTypeId: '0-1',
        singularLabel: 'Contact',
        pluralLabel: 'Contacts',
        limit: 1000,
        usage: 100,
        percentage: 10,
      },
    ],
  }
}

/** Looks again and again until it holds; the deadline is what fails, not a pause that was too short. */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | undefined | false>,
  deadlineMs = 300_000,
): Promise<T> {
  const end = Date.now() + deadlineMs
  for (;;) {
    const found = await look().catch((error: unknown) => {
      if (error instanceof Unavailable && Date.now() < end) return undefined
      throw error
    })
    if (found !== undefined && found !== false) return found
    if (Date.now() > end) throw new Error(`not within ${deadlineMs / 1000} s: ${what}`)
    await pause(100)
  }
}

export async function freePort(): Promise<number> {
  // Below those that the system gives to connections: of thousands that tests open, one would have it a moment later. By
  // chance, because files run side by side.
  for (;;) {
    const port = randomInt(12_000, 32_000)
    if (await isFree(port)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.on('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
