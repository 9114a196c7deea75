import type { Daemon } from '../heartbeat/daemon-store.ts'
import type { DaemonShape } from './shapes/fleet-status.ts'

export type DaemonStatus = DaemonShape

const SILENT_AFTER_MS = 35_000

export function daemonStatus({ name, version, startedAt, lastSeenAt }: Daemon, now: number): DaemonStatus {
  return {
    ...{ name, version },
    startedAt: new Date(startedAt).toISOString(),
    lastSeenAt: new Date(lastSeenAt).toISOString(),
    silent: now - lastSeenAt > SILENT_AFTER_MS,
  }
}
