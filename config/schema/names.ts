import * as z from 'zod'

/** The schema inside: of an optional setting, the entries of a list, what a written value is made into. */
function inside(schema: z.core.$ZodType): z.core.$ZodType | undefined {
  const def = schema._zod.def as { innerType?: z.core.$ZodType; element?: z.core.$ZodType; out?: z.core.$ZodType }
  return def.innerType ?? def.element ?? def.out
}

/** True for a secret, and for several of them. */
function isSecret(schema: z.core.$ZodType): boolean {
  if (z.globalRegistry.get(schema)?.writeOnly === true) return true
  const held = inside(schema)
  return held !== undefined && isSecret(held)
}

type Settings = Readonly<Record<string, z.core.$ZodType>>

export function secretsIn(settings: Settings): string[] {
  return Object.entries(settings).flatMap(([name, schema]) => (isSecret(schema) ? [name] : []))
}

/** The setting that names the file of a secret. */
export const twinOf = (secret: string) => `${secret}File`

/** Every name that a group accepts, the twins of its secrets included. */
export function namesIn(settings: Settings): string[] {
  const secrets = secretsIn(settings)
  return Object.keys(settings).flatMap((name) => (secrets.includes(name) ? [name, twinOf(name)] : [name]))
}

/** Groups at the top level that do have a setting of this name: with wrong indentation one of them was meant. */
export function groupsWith(name: string, settings: Settings): string[] {
  if (Object.hasOwn(settings, name)) return [`${name} at the top level`]
  return Object.entries(settings).flatMap(([group, schema]) => {
    const { innerType = schema } = schema._zod.def as { innerType?: z.core.$ZodType }
    return innerType instanceof z.ZodObject && namesIn(innerType.shape).includes(name) ? [`${group}.${name}`] : []
  })
}
