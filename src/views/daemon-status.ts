import { type Daemon, isSilent } from '../heartbeat/daemon-store.ts'
import { leftUndone, ROLES } from '../heartbeat/roles.ts'
import { cleanText } from '../text/clean-text.ts'
import { formatTime } from '../text/format-time.ts'
import type { DaemonShape } from './shapes/fleet-status.ts'

export type DaemonStatus = DaemonShape

export function daemonStatus(daemon: Daemon, now: number): DaemonStatus {
  const { name, version, startedAt, lastSeenAt, roles } = daemon
  return {
    ...{ name, version, roles: [...roles] },
    startedAt: new Date(startedAt).toISOString(),
    lastSeenAt: new Date(lastSeenAt).toISOString(),
    silent: isSilent(daemon, now),
  }
}

/** Who is at work, in a line; without anybody all else that a status tells is of the past. */
export function daemonsText(daemons: readonly DaemonStatus[]): string {
  const working = daemons
    .filter(({ silent }) => !silent)
    .map((daemon) => cleanText(daemon.name, 80) + rolesNote(daemon))
  const silent = daemons
    .filter((daemon) => daemon.silent)
    .map(({ name, lastSeenAt }) => `${cleanText(name, 80)} is silent since ${formatTime(lastSeenAt)}`)
  const atWork = working.length === 0 ? 'none is at work' : `${working.length} at work (${working.join(', ')})`
  return [atWork, ...leftUndone(daemons.filter(({ silent }) => !silent)), ...silent].join(', ')
}

function rolesNote({ roles }: DaemonStatus): string {
  return roles.length === ROLES.length ? '' : `: ${roles.join(' and ')}`
}
