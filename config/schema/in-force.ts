import { createHmac } from 'node:crypto'
import { stringify } from 'yaml'
import type * as z from 'zod'
import { Secret } from '../../src/runtime/secret.ts'
import { type Path, renderPath } from './problems.ts'
import { type Config, configSchema, settings } from './schema.ts'
import { shapeOf } from './shape.ts'
import { isGroup, needsRestart } from './values.ts'

/**
 * The config of a running daemon after its file was read again: all of `next`, but for settings that need a restart.
 */
export function takeOver(inForce: Config, next: Config): Config {
  // A key that the start made stays where the file names none.
  const encryption = next.encryption ?? inForce.encryption
  return taken(settings, inForce, { ...next, ...(encryption === undefined ? {} : { encryption }) }) as Config
}

function taken(schema: z.core.$ZodType, inForce: unknown, next: unknown): unknown {
  if (needsRestart(schema)) return inForce
  const shape = shapeOf(schema)
  if (shape.kind !== 'group' || !isGroup(inForce) || !isGroup(next)) return next
  const values = Object.entries(shape.settings).map(([name, one]) => [name, taken(one, inForce[name], next[name])])
  return Object.fromEntries(values.filter(([, value]) => value !== undefined))
}

/** Differences of two configs, as paths of settings: `provider.clientSecret`, `thresholds[2].warning.percent`. */
export function changedPaths(before: Config, after: Config): string[] {
  return differences(before, after, [])
}

function differences(before: unknown, after: unknown, path: Path): string[] {
  if (isPlain(before) && isPlain(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)])
    return [...names].flatMap((name) => differences(before[name], after[name], [...path, name]))
  }
  // Lists of one length are compared entry by entry; where one was added, all that follow have moved.
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    return before.flatMap((entry, index) => differences(entry, after[index], [...path, index]))
  }
  return isSame(before, after) ? [] : [renderPath(path)]
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return isGroup(value) && !(value instanceof Secret)
}

function isSame(before: unknown, after: unknown): boolean {
  if (before instanceof Secret && after instanceof Secret) return before.reveal() === after.reveal()
  return before === after
}

/**
 * Shows whether two configs are the same, secrets included, and gives nothing of them away without the key. What may
 * differ between daemons of one installation is left out.
 */
export function configFingerprint(config: Config, key: Buffer): string {
  const { dataDir: _, log: __, http, ...rest } = config
  const { listen: ___, brand, ...served } = http
  const { logo: ____, ...shown } = brand
  const text = JSON.stringify(plain({ ...rest, http: { ...served, brand: shown } }))
  return createHmac('sha256', key).update(text).digest('hex').slice(0, 16)
}

/** Sorted keys, the same for every file; lists keep their order, which has a meaning. */
function plain(value: unknown): unknown {
  if (value instanceof Secret) return value.reveal()
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([name, one]) => [name, plain(one)]))
}

/** The config that is in force as a file would have it: defaults filled in, secrets masked, durations with their units. */
export function configInForce(config: Config): object {
  return asWritten(config, configSchema) as object
}

/** The same as YAML. */
export function printConfig(config: Config): string {
  return stringify(configInForce(config), { lineWidth: 0 })
}

function asWritten(value: unknown, schema: z.core.$ZodType): unknown {
  const shape = shapeOf(schema)
  switch (shape.kind) {
    case 'group': {
      const given = value as Record<string, unknown>
      return Object.fromEntries(
        Object.entries(shape.settings).flatMap(([name, setting]) => {
          const written = given[name] === undefined ? undefined : asWritten(given[name], setting)
          return written === undefined ? [] : [[name, written]]
        }),
      )
    }
    case 'table':
      return Object.fromEntries(
        Object.entries(value as object).map(([name, one]) => [name, asWritten(one, shape.value)]),
      )
    case 'list':
      return Array.isArray(value) ? value.map((item) => asWritten(item, shape.item)) : value
    case 'choice': {
      const group = shape.groups.get((value as Record<string, unknown>)[shape.by])
      return group === undefined ? undefined : asWritten(value, group)
    }
    case 'value':
      return shape.form.show === undefined ? value : shape.form.show(value as never)
  }
}
