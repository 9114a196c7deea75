import type { Notice } from '../../config/schema/problems.ts'
import type { Config } from '../../config/schema/schema.ts'
import type { AskedNode, Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import type { Clock } from '../runtime/clock.ts'
import type { ProxyFor } from '../runtime/outgoing-proxy.ts'
import { redactUrls } from '../runtime/url-credentials.ts'
import type { VaultKey } from '../tokens/vault.ts'

/** The result of one check. Every failure has its remedy. */
export type Finding = { name: string; detail: string } & (
  | { level: 'ok' | 'warn'; fix?: string }
  | { level: 'fail'; fix: string }
)

/** One check; it may find several faults. */
export interface DoctorCheck {
  name: string
  /** Changes nothing; ends when `signal` aborts, or is left behind. */
  run(signal: AbortSignal): Promise<Finding[]>
  /** The remedy when it hangs or throws. */
  fix: string
  /** How long it may take, if longer than others. */
  longestMs?: number
}

export const ok = (name: string, detail: string): Finding => ({ name, level: 'ok', detail })

export const warn = (name: string, detail: string, fix?: string): Finding =>
  fix === undefined ? { name, level: 'warn', detail } : { name, level: 'warn', detail, fix }

export const fail = (name: string, detail: string, fix: string): Finding => ({ name, level: 'fail', detail, fix })

/** The installation that is checked. */
export interface Installation {
  config: Config
  notices: readonly Notice[]
  /** The config file, and whether secrets are written into it. */
  configFile?: { path: string; hasSecrets: boolean }
  /** Files that secrets are read from. */
  secretFiles: readonly string[]
  /** Undefined where the config leaves the key to the installation. */
  vaultKeys: readonly VaultKey[] | undefined
  redis: RedisConnection
  keys: Keys
  clock: Clock
  proxyFor?: ProxyFor | undefined
}

export interface RedisConnection {
  /** Rejects where there is no server to connect to. */
  store: Promise<Store>
  /** The server is the one that Plimsoll runs for itself. */
  isPrivate?: boolean
  /** How long each answer is waited for. */
  waitMs?: number
  /** Why the connection fails, while it does. */
  lastError(): Error | undefined
  /** Asks each sentinel, or each given node of a cluster. */
  askNodes(): Promise<AskedNode[]>
}

const LONGEST_MS = 5_000

/** All at once, each within five seconds or its own time: one that hangs or throws fails alone. In the order of the checks. */
export async function runChecks(checks: readonly DoctorCheck[], clock: Clock): Promise<Finding[]> {
  return (await Promise.all(checks.map((check) => runCheck(check, clock)))).flat()
}

async function runCheck({ name, run, fix, longestMs = LONGEST_MS }: DoctorCheck, clock: Clock): Promise<Finding[]> {
  const [deadline, done] = [new AbortController(), new AbortController()]
  const late = async () => {
    await clock.wait(longestMs, done.signal)
    deadline.abort()
    return [fail(name, `no result within ${longestMs / 1000} s`, fix)]
  }
  try {
    return await Promise.race([run(deadline.signal), late()])
  } catch (error) {
    return [fail(name, error instanceof Error ? redactUrls(error.message) : 'it could not be checked', fix)]
  } finally {
    done.abort()
  }
}
