import type { SweepKind } from '../../jobs/queues.ts'
import { changeContact } from '../accounts/contact.ts'
import { type BegunUninstall, beginUninstall, type UninstallRequest } from '../accounts/uninstall.ts'
import type { Services } from './services.ts'

/** Begins an uninstall, for the API and the command line; the daemon's job does the rest. */
export async function startUninstall(
  services: Services,
  hubId: number,
  request: UninstallRequest,
): Promise<BegunUninstall> {
  const begun = await beginUninstall(services, hubId, request)
  if (begun === 'begun') await wakeNow(services, 'uninstall', 'alerts')
  return begun
}

/** Of an account that is known; the log has who did it, and not the address. */
export async function setContact(
  stores: Pick<Services, 'store' | 'keys' | 'log'>,
  hubId: number,
  { address, by }: { address: string | null; by: string },
): Promise<'changed' | 'unknown'> {
  const outcome = await changeContact(stores, hubId, address)
  const what = address === null ? 'its contact was removed' : 'its contact was set'
  if (outcome === 'changed') stores.log.info({ code: 'account.contact', hubId, by }, what)
  return outcome
}

/** After an account was connected: its first poll need not wait for the clock. */
export function connected(services: Services): Promise<void> {
  return wakeNow(services, 'poll-limits', 'alerts')
}

/** After accounts were imported: their first refresh need not wait for the clock, nor their digest be sent in pieces. */
export async function imported(services: Services): Promise<void> {
  const { store, keys, clock } = services
  await Promise.all([store.set(keys.delivery.connectedAt, clock.now()), wakeNow(services, 'refresh-tokens')])
}

/** The sweeps of these kinds need not wait for the clock. */
export async function wakeNow({ queues, clock }: Pick<Services, 'queues' | 'clock'>, ...kinds: SweepKind[]) {
  await Promise.all(kinds.map((kind) => queues.wake(kind, clock.now())))
}
