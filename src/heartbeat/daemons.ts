import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { isMoment } from '../runtime/moment.ts'

/** A daemon as it reports itself. Times are ms since 1970. */
export interface Daemon {
  /** The machine and the process. */
  name: string
  version: string
  startedAt: number
  lastSeenAt: number
  /** The fingerprint of the config that it works by: `doctor` compares it with that of the file. */
  config: string
  /** None: a command that writes tokens. */
  roles: readonly Role[]
  /** The key that it encrypts tokens with, and others that values in its own data folder are under. */
  keyId?: string
  needs?: readonly string[]
  /** The daemon's own checks that fail. Absent: another version, as below. */
  ill?: readonly { name: string; says: string }[]
  /**
   * Set for a daemon that works: the moment since which sweeps could finish, ms, and the longest pause between two of a
   * kind.
   */
  sweeps?: { since: number; pauses: Readonly<Record<string, number>> }
}

/** One that stopped without a word is shown for so long. */
const KEPT_MS = 86_400_000
const SILENT_AFTER_MS = 35_000

/** A silent daemon has died, or can't reach Redis. */
export function isSilent({ lastSeenAt }: Pick<Daemon, 'lastSeenAt'>, now: number): boolean {
  return now - lastSeenAt > SILENT_AFTER_MS
}

/** The running daemons, as they report themselves at an interval. */
export class DaemonStore {
  readonly #store: Store
  readonly #keys: Keys

  constructor(store: Store, keys: Keys) {
    this.#store = store
    this.#keys = keys
  }

  async report({ name, ...daemon }: Daemon): Promise<void> {
    await this.#store.hset(this.#keys.daemons, name, JSON.stringify(daemon))
    const gone = (await this.read('commands too')).filter(({ lastSeenAt }) => daemon.lastSeenAt - lastSeenAt > KEPT_MS)
    if (gone.length > 0) await this.#store.hdel(this.#keys.daemons, ...gone.map((other) => other.name))
  }

  async leave(name: string): Promise<void> {
    await this.#store.hdel(this.#keys.daemons, name)
  }

  /** Processes that encrypt tokens now, with the keys that they write with and need. */
  async writers(now: number) {
    const alive = (await this.read('commands too')).filter((one) => !isSilent(one, now))
    return alive.flatMap(({ name, keyId, needs = [] }) => (keyId === undefined ? [] : [{ daemon: name, keyId, needs }]))
  }

  /** Fingerprints of the configs by which other running daemons send alerts, beside one's own. */
  async configs(own: string, now: number): Promise<{ own: string; others: string[] }> {
    const others = (await this.read()).filter((one) => one.sweeps && !isSilent(one, now) && one.config !== own)
    return { own, others: [...new Set(others.map(({ config }) => config))] }
  }

  /** Longest running first. Commands are those that write tokens. */
  async read(which?: 'commands too'): Promise<Daemon[]> {
    return Object.entries(await this.#store.hgetall(this.#keys.daemons))
      .flatMap(([name, stored]) => readDaemon(name, stored) ?? [])
      .filter(({ roles }) => roles.length > 0 || which !== undefined)
      .sort((a, b) => a.startedAt - b.startedAt || (a.name < b.name ? -1 : 1))
  }
}

/**
 * A daemon's stored state: other versions lack newer fields, or have more. Undefined for a text that no daemon wrote.
 */
function readDaemon(name: string, stored: string): Daemon | undefined {
  try {
    const daemon = { name, roles: ROLES, ...(JSON.parse(stored) as Omit<Daemon, 'name' | 'roles'>) }
    const { startedAt, lastSeenAt, version, config, roles, keyId, needs = [] } = daemon
    const areTexts = [version, config ?? '', keyId ?? '', ...roles, ...needs].every((text) => typeof text === 'string')
    return areTexts && isMoment(startedAt) && isMoment(lastSeenAt) ? daemon : undefined
  } catch {
    return undefined
  }
}

/**
 * The parts of a daemon's work: `clock` starts the sweeps, `worker` does the work, `web` serves people, programs and
 * the install page. Every daemon serves probes and metrics.
 */
export const ROLES = ['clock', 'worker', 'web'] as const
export type Role = (typeof ROLES)[number]

export const isRole = (text: string): text is Role => (ROLES as readonly string[]).includes(text)

/** A daemon that works ticks for itself: without a word from the others it sweeps all the same. */
export const ticks = (roles: ReadonlySet<Role>): boolean => roles.has('clock') || roles.has('worker')

/** A sentence for each role that no daemon has; none where no daemon runs at all. */
export function leftUndone(atWork: readonly { roles: readonly string[] }[]): string[] {
  const lacking = atWork.length === 0 ? [] : ROLES.filter((role) => !atWork.some(({ roles }) => roles.includes(role)))
  return lacking.flatMap((role) => WITHOUT[role] ?? [])
}

/** Without pages a fleet may well be: it has a command line. */
const WITHOUT: Partial<Record<Role, string>> = {
  clock: 'NO CLOCK is running: workers sweep by their own ticks only (plimsoll start --roles clock)',
  worker: 'NO WORKER is running: nothing is refreshed, polled or sent (plimsoll start --roles worker)',
}
