import { stringify } from 'yaml'
import type * as z from 'zod'
import { type Config, configSchema } from './schema.ts'
import { shapeOf } from './shape.ts'

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
