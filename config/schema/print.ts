import { stringify } from 'yaml'
import * as z from 'zod'
import { type Config, configSchema } from './schema.ts'

// Checks were done when it was read, and a default need not pass those of a setting.
const UNCHECKED: z.core.ParseContextInternal<z.core.$ZodIssue> = { jitless: true, skipChecks: true }

/** The config that is in force as a file would have it: defaults filled in, secrets masked, durations with their units. */
export function configInForce(config: Config): object {
  return z.encode(configSchema, config as z.output<typeof configSchema>, UNCHECKED)
}

export function yamlOf(settings: object): string {
  return stringify(settings, { lineWidth: 0 })
}

/** The same as YAML. */
export const printConfig = (config: Config): string => yamlOf(configInForce(config))
