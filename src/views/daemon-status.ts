import type { Daemon } from '../heartbeat/daemon-store.ts'
import { cleanText } from '../text/clean-text.ts'
import { formatTime } from '../text/format-time.ts'
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

/** Who is at work, in a line; without anybody all else that a status tells is of the past. */
export function daemonsText(daemons: readonly DaemonStatus[]): string {
  const working = daemons.filter(({ silent }) => !silent).map(({ name }) => cleanText(name, 80))
  const silent = daemons
    .filter((daemon) => daemon.silent)
    .map(({ name, lastSeenAt }) => `${cleanText(name, 80)} is silent since ${formatTime(lastSeenAt)}`)
  const atWork = working.length === 0 ? 'none is at work' : `${working.length} at work (${working.join(', ')})`
  return [atWork, ...silent].join(', ')
}
