import type { Daemon } from '../heartbeat/daemon-store.ts'

/** A daemon that runs, or did until a while ago. */
export interface DaemonStatus {
  name: string
  version: string
  startedAt: string
  lastSeenAt: string
  /** It said nothing for so long that it must have died, or cannot reach Redis. */
  silent: boolean
}

const SILENT_AFTER_MS = 35_000

export function daemonStatus({ startedAt, lastSeenAt, ...daemon }: Daemon, now: number): DaemonStatus {
  return {
    ...daemon,
    startedAt: new Date(startedAt).toISOString(),
    lastSeenAt: new Date(lastSeenAt).toISOString(),
    silent: now - lastSeenAt > SILENT_AFTER_MS,
  }
}
