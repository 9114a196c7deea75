import { request } from 'undici'
import { EVERY_POLL } from '../sandbox/journal.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { DemoFacts } from '../views/shapes/installation.ts'
import type { Io } from './io.ts'

/** The daemon of the demo, and how to ask it. */
export interface DemoDaemon {
  url: string
  /** Signs in, once. */
  signInLink: string
  tokenFile: string
  bearer: { authorization: string }
}

interface JournalEntry {
  endpoint: string
  hubId: number | null
  status: number
  grant?: string
}

interface ListedAccount {
  hubId: number
  state: string
  token: { expiresAt: string }
}

export async function gatherFacts(
  { url, bearer }: DemoDaemon,
  sandbox: Sandbox,
  hubIds: readonly number[],
  now: number,
): Promise<DemoFacts> {
  const [journal, mails, hooks, { items }] = await Promise.all([
    read<JournalEntry[]>(`${sandbox.url}/sandbox/requests`),
    read<unknown[]>(`${sandbox.url}/sandbox/inbox`),
    read<unknown[]>(`${sandbox.url}/sandbox/hooks`),
    read<{ items: ListedAccount[] }>(`${url}/api/v1/accounts?limit=500`, bearer),
  ])
  const refreshes = journal.filter((entry) => entry.grant === 'refresh_token' && entry.status === 200)
  const polls = journal.filter((entry) => entry.endpoint === EVERY_POLL && entry.status === 200)
  // 204 in v1, 200 in dated versions.
  const deleted = journal.filter((entry) => entry.endpoint === 'delete' && entry.status < 300)
  const live = items.filter(({ state }) => state !== 'uninstalling' && state !== 'uninstalled')
  return {
    accounts: items.length,
    refreshes: refreshes.length,
    refreshesPerAccountAtLeast: fewest(hubIds, refreshes),
    polls: polls.length,
    pollsPerAccountAtLeast: fewest(hubIds, polls),
    emails: mails.length,
    webhooks: hooks.length,
    uninstalls: Math.min(deleted.length, items.length - live.length),
    tokensExpired:
      journal.filter(({ status }) => status === 401).length +
      live.filter(({ token }) => Date.parse(token.expiresAt) <= now).length,
  }
}

async function read<T>(url: string, headers = {}): Promise<T> {
  const { body } = await request(url, { headers: { accept: 'application/json', ...headers } })
  return (await body.json()) as T
}

function fewest(hubIds: readonly number[], entries: readonly JournalEntry[]): number {
  const counts = new Map(hubIds.map((hubId) => [hubId, 0]))
  for (const { hubId } of entries) if (hubId !== null) counts.set(hubId, (counts.get(hubId) ?? 0) + 1)
  return Math.min(...counts.values())
}

export function printDemoFacts(io: Io, facts: DemoFacts): void {
  io.out(
    `\nWhat happened:\n` +
      `  accounts: ${facts.accounts}\n` +
      `  refreshes: ${facts.refreshes} (each account at least ${facts.refreshesPerAccountAtLeast})\n` +
      `  polls: ${facts.polls} (each account at least ${facts.pollsPerAccountAtLeast})\n` +
      `  e-mails: ${facts.emails}\n` +
      `  webhooks: ${facts.webhooks}\n` +
      `  uninstalls: ${facts.uninstalls}\n` +
      `  tokens expired: ${facts.tokensExpired}\n`,
  )
}

/** Facts that a demo run should have, and has not. */
export function missingFacts(facts: DemoFacts): string[] {
  const expected: [string, boolean][] = [
    ['no account was connected', facts.accounts > 0],
    ['some accounts were not refreshed (give it 30 s or more)', facts.refreshesPerAccountAtLeast > 0],
    ['some accounts were not polled', facts.pollsPerAccountAtLeast > 0],
    ['no e-mail arrived', facts.emails > 0],
    ['no webhook arrived', facts.webhooks > 0],
    ['no account was uninstalled', facts.uninstalls > 0],
    [`${facts.tokensExpired} tokens expired`, facts.tokensExpired === 0],
  ]
  return expected.filter(([, happened]) => !happened).map(([what]) => what)
}
