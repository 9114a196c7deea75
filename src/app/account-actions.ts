import type { SweepKind } from '../../jobs/queues.ts'
import { type BegunUninstall, beginUninstall, type UninstallRequest } from '../accounts/uninstall.ts'
import { closeAlerts } from '../alerts/kinds/told-alert.ts'
import { announcer, pageOf, scopesAnnouncer } from './announcers.ts'
import type { Parts } from './parts.ts'

/** What connecting an account needs, for the callback and the command line. */
export function connectDeps(parts: Parts) {
  const { provider, store, keys, vault, config, clock, log } = parts
  const announcers = { announce: announcer(config), announceScopes: scopesAnnouncer(config) }
  return { provider, store, keys, vault, ...announcers, settings: config.tokens, clock, log }
}

/** Begins an uninstall, for the API and the command line; the daemon's job does the rest. */
export async function uninstall(parts: Parts, hubId: number, request: UninstallRequest): Promise<BegunUninstall> {
  const { store, keys, config, clock, log } = parts
  const close = closeAlerts.bind(undefined, pageOf(config))
  const begun = await beginUninstall({ store, keys, closeAlerts: close, clock, log }, hubId, request)
  if (begun === 'begun') await Promise.all(wakeNow(parts, 'uninstall', 'alerts'))
  return begun
}

/** After an account was connected: its first poll need not wait for the clock. */
export async function connected(parts: Parts): Promise<void> {
  await Promise.all(wakeNow(parts, 'poll-limits', 'alerts'))
}

/** After accounts were imported: their first refresh need not wait for the clock, nor their digest be sent in pieces. */
export async function imported(parts: Parts): Promise<void> {
  const { store, keys, clock } = parts
  await Promise.all([store.set(keys.delivery.connectedAt, clock.now()), ...wakeNow(parts, 'refresh-tokens')])
}

export function wakeNow(parts: Parts, ...kinds: SweepKind[]): Promise<void>[] {
  return kinds.map((kind) => parts.queues.wake(kind, parts.clock.now()))
}
