import { configFingerprint } from '../../config/schema/reload.ts'
import type { AuditLog } from '../audit/audit-log.ts'
import type { Store } from '../redis/connect.ts'
import type { Reloaded } from './reload.ts'
import type { Services } from './services.ts'

/** A daemon by its machine and process: who changed a file, or sent a signal, it can't know. */
export interface ConfigAudit {
  /** Notes a config that differs from that of the last start or reload. */
  started(): Promise<void>
  reloaded(outcome: Reloaded): Promise<void>
  refused(): Promise<void>
}

/** `audit` and `store` give up soon: neither start nor reload waits for a Redis that is away. */
export function openConfigAudit(
  current: () => Pick<Services, 'config' | 'vault' | 'keys'>,
  { audit, store }: { audit: AuditLog; store: Store },
  name: string,
): ConfigAudit {
  const who = { name, via: 'daemon' } as const
  /** The fingerprint that was noted before this one; it gives nothing of the config away. */
  const noteFingerprint = async () => {
    const { config, vault, keys } = current()
    const now = configFingerprint(config, vault.derive('config'))
    const swap = store.multi().hget(keys.fleet, 'config').hset(keys.fleet, 'config', now)
    return { now, before: (await swap.exec().catch(() => null))?.[0]?.[1] ?? null }
  }
  return {
    started: async () => {
      const { now, before } = await noteFingerprint()
      if (before === null || before === now) return
      await audit.note({ action: 'config.changed', who, detail: `fingerprint ${now}, before ${before}` })
    },
    reloaded: async ({ applied, restart }) => {
      await noteFingerprint()
      const needs = restart.length === 0 ? '' : `; needs a restart: ${restart.join(', ')}`
      const changed = applied.length === 0 ? 'nothing changed' : `changed: ${applied.join(', ')}`
      await audit.note({ action: 'config.reloaded', who, detail: `${changed}${needs}` })
    },
    refused: () => audit.note({ action: 'config.refused', who }),
  }
}
