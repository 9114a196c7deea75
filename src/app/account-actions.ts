import type { SweepKind } from '../../jobs/queues.ts'
import type { ReadLine } from '../accounts/account-rows.ts'
import { type ConnectedByToken, connectWithRefreshToken } from '../accounts/connect-account.ts'
import { changeContact } from '../accounts/contact.ts'
import { type ImportOptions, type ImportSummary, importRows } from '../accounts/import-accounts.ts'
import { reconnectLink } from '../accounts/install.ts'
import { type ExportedAccount, readForExport } from '../accounts/registry.ts'
import { type BegunUninstall, beginUninstall } from '../accounts/uninstall.ts'
import type { Who } from '../audit/audited.ts'
import type { Secret } from '../runtime/secret.ts'
import { countOf, formatCount } from '../text/format-number.ts'
import type { AccessTokenAnswer, AccessTokens } from '../tokens/access-token.ts'
import type { Services } from './services.ts'
import type { Stores } from './stores.ts'

/*
 * The actions of pages, API and commands on accounts: carried out here and nowhere else, with a note in the audit. Each takes
 * the person or program that asks.
 */

/** Begins an uninstall; the daemon's job does the rest. */
export async function startUninstall(
  services: Services,
  hubId: number,
  reason: string,
  who: Who,
): Promise<BegunUninstall> {
  const by = who.via === 'command' ? 'cli' : 'api'
  const begun = await beginUninstall(services, hubId, { by, reason })
  if (begun === 'begun') {
    await wakeNow(services, 'uninstall', 'alerts')
    await services.audit.note({ action: 'account.uninstalled', who, hubId, detail: reason })
  }
  return begun
}

/** The account must be known; neither log nor audit has the address. */
export async function giveContact(
  stores: Pick<Services, 'store' | 'keys' | 'audit'>,
  hubId: number,
  address: string | null,
  who: Who,
): Promise<'changed' | 'unknown'> {
  const outcome = await changeContact(stores, hubId, address)
  const detail = address === null ? 'removed' : 'set'
  if (outcome === 'changed') await stores.audit.note({ action: 'account.contact', who, hubId, detail })
  return outcome
}

/** After an account was connected: its first poll need not wait for the clock. */
export function connected(services: Services): Promise<void> {
  return wakeNow(services, 'poll-limits', 'alerts')
}

/** By a refresh token that an operator has. */
export async function connectByToken(services: Services, refreshToken: Secret, who: Who): Promise<ConnectedByToken> {
  const outcome = await connectWithRefreshToken(services, refreshToken)
  if (outcome.is === 'failed' || outcome.is === 'busy') return outcome
  await connected(services)
  await services.audit.note({ action: 'account.connected', who, hubId: outcome.hubId, detail: outcome.is })
  return outcome
}

/** The first refresh of what is new need not wait for the clock, nor its digest be sent in pieces. */
export async function importFleet(
  services: Services,
  lines: AsyncIterable<ReadLine>,
  options: ImportOptions,
  who: Who,
): Promise<ImportSummary> {
  const { audit } = services
  const summary = await importRows(services, lines, options).catch(async (error: unknown) => {
    await audit.note({ action: 'accounts.imported', who, detail: 'a part: an error ended it' })
    throw error
  })
  const { imported, replaced } = summary
  if (imported + replaced === 0) return summary
  const { store, keys, clock } = services
  await Promise.all([store.set(keys.delivery.lastConnectAt, clock.now()), wakeNow(services, 'refresh-tokens')])
  const detail = `imported ${formatCount(imported)}, replaced ${formatCount(replaced)}`
  await audit.note({ action: 'accounts.imported', who, detail })
  return summary
}

/** Every live account with its sealed refresh token. It is noted however the reading ends: what was read is out. */
export async function* exportFleet(stores: Stores, who: Who): AsyncGenerator<ExportedAccount[]> {
  let count = 0
  try {
    for await (const accounts of readForExport(stores.store, stores.keys)) {
      count += accounts.length
      yield accounts
    }
  } finally {
    await stores.audit.note({ action: 'accounts.exported', who, detail: countOf(count, 'account') })
  }
}

/** A valid access token, to a caller of the API. The log has each; a program does not wait for the audit. */
export async function serveAccessToken(
  accessTokens: Pick<AccessTokens, 'serve'>,
  { audit, log }: Pick<Stores, 'audit' | 'log'>,
  hubId: number,
  who: Who,
): Promise<AccessTokenAnswer> {
  const answer = await accessTokens.serve(hubId, who.name)
  if (answer.is === 'served') {
    log.info({ code: 'token.served', hubId, to: who.name, via: who.via }, 'an access token was handed out')
    void audit.noteFirstOfDay({ action: 'token.served', who, hubId })
  }
  return answer
}

/** A link that connects this account and no other. Pages that show it again on the same day are not noted again. */
export function makeReconnectLink(
  { vault, config, clock, audit }: Pick<Stores, 'vault' | 'config' | 'clock' | 'audit'>,
  hubId: number,
  who: Who,
): { url: string; expiresAt: number; noted: Promise<void> } {
  const noted = audit.noteFirstOfDay({ action: 'reconnect-link.made', who, hubId })
  return { ...reconnectLink(vault, config.http.publicUrl, hubId, clock.now()), noted }
}

/** The sweeps of these kinds need not wait for the clock. */
export async function wakeNow({ queues, clock }: Pick<Services, 'queues' | 'clock'>, ...kinds: SweepKind[]) {
  await Promise.all(kinds.map((kind) => queues.wake(kind, clock.now())))
}
