import { createHmac } from 'node:crypto'
import { Secret } from '../../src/runtime/secret.ts'
import { type Path, renderPath } from './problems.ts'
import type { Config } from './schema.ts'
import { asGroup, isGroup } from './values.ts'

/** Settings that a running daemon does not take over when it reads its file again. */
const UNTIL_RESTART = {
  redis: true,
  dataDir: true,
  tokens: true,
  http: true,
  provider: { baseUrl: true, redirectUri: true, timeout: true, connections: true, insecure: true },
  log: { pretty: true, file: true },
} as const

/** The config of a running daemon after its file was read again: all of `next`, but for settings that need a restart. */
export function takeOver(inForce: Config, next: Config): Config {
  // A key that the start made stays where the file names none.
  const { encryption = inForce.encryption, ...rest } = next
  return kept(UNTIL_RESTART, inForce, encryption === undefined ? rest : { ...rest, encryption }) as Config
}

type Group = Readonly<Record<string, unknown>>

function kept(settings: Group, inForce: Group, next: Group): Group {
  const values = { ...next }
  for (const [name, inside] of Object.entries(settings)) {
    const value = isGroup(inside) ? kept(inside, asGroup(inForce[name]), asGroup(next[name])) : inForce[name]
    if (value === undefined) delete values[name]
    else values[name] = value
  }
  return values
}

/** Differences of two configs, as paths of settings: `provider.clientSecret`, `thresholds[2].warning.percent`. */
export function changedPaths(before: Config, after: Config): string[] {
  return differences(plain(before), plain(after), [])
}

function differences(before: unknown, after: unknown, path: Path): string[] {
  if (isGroup(before) && isGroup(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)])
    return [...names].flatMap((name) => differences(before[name], after[name], [...path, name]))
  }
  // Lists of one length are compared entry by entry; where one was added, all that follow have moved.
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    return before.flatMap((entry, index) => differences(entry, after[index], [...path, index]))
  }
  return before === after ? [] : [renderPath(path)]
}

/**
 * Shows whether two configs are the same, secrets included, and gives nothing of them away without the key. What may
 * differ between daemons of one installation is left out.
 */
export function configFingerprint(config: Config, key: Buffer): string {
  const { dataDir: _, log: __, http, ...rest } = config
  const { listen: ___, brand, ...served } = http
  const { logo: ____, ...shown } = brand
  const text = JSON.stringify(plain({ ...rest, http: { ...served, brand: shown } }), sorted)
  return createHmac('sha256', key).update(text).digest('hex').slice(0, 16)
}

/** Keys in the same order for every file; lists keep theirs, which has a meaning. */
const sorted = (_: string, value: unknown) =>
  isGroup(value) ? Object.fromEntries(Object.entries(value).sort()) : value

function plain(value: unknown): unknown {
  if (value instanceof Secret) return value.reveal()
  if (Array.isArray(value)) return value.map(plain)
  return isGroup(value) ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one)])) : value
}
