import { createHmac } from 'node:crypto'
import { Secret } from '../src/runtime/secret.ts'
import type { Config } from './schema.ts'

/**
 * Shows whether two configs are the same, secrets included, and gives nothing of them away to who lacks the key. What may
 * differ between daemons of one installation is left out.
 */
export function fingerprint(config: Config, key: Buffer): string {
  const { dataDir: _, log: __, http, ...rest } = config
  const { listen: ___, ...served } = http
  const text = JSON.stringify(plain({ ...rest, http: served }))
  return createHmac('sha256', key).update(text).digest('hex').slice(0, 16)
}

/** In one order for every file; lists keep theirs, it means something. */
function plain(value: unknown): unknown {
  if (value instanceof Secret) return value.reveal()
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([name, one]) => [name, plain(one)]))
}
