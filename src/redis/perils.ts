import type { ServerFacts } from './servers.ts'

/** A setting of a server that loses tokens one day, and the way out. */
export interface Peril {
  name: 'redis.eviction' | 'redis.persistence'
  detail: string
  fix: string
}

export function perilsOf(server: ServerFacts): Peril[] {
  return [evictionPeril(server), persistencePeril(server)].filter((peril) => peril !== undefined)
}

export function evictionPeril({ evictionPolicy: policy }: ServerFacts): Peril | undefined {
  if (policy === undefined || policy === 'noeviction') return undefined
  return { name: 'redis.eviction', detail: `${policy}: when memory is full it throws tokens away`, fix: NO_EVICTION }
}

export function persistencePeril({ appendOnly, savesWork, snapshots }: ServerFacts): Peril | undefined {
  const name = 'redis.persistence'
  if (!savesWork) {
    const fix = 'make room on its disk or mend its permissions; see its log'
    return { name, detail: 'the last write to disk failed', fix }
  }
  if (appendOnly || snapshots !== '') return undefined
  return { name, detail: 'off: a restart of the server loses every token', fix: APPEND_ONLY }
}

export const NO_EVICTION =
  'set maxmemory-policy noeviction: redis-cli config set maxmemory-policy noeviction, and in its config'
export const APPEND_ONLY = 'turn the append-only file on: redis-cli config set appendonly yes, and in its config'
