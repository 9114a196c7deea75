import type { SweepKind } from '../../jobs/queues.ts'
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
