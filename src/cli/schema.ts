import { isOperation, loadOperation } from '../operations/operations.ts'
import { suggest } from '../text/suggest.ts'
import { jsonSchemaOf, type Shape } from '../views/shapes/words.ts'
import { namesWith } from './command-names.ts'
import { CommandError, type Io, printJson } from './io.ts'
import { JSON_SHAPES } from './json-shapes.ts'

const SHAPES: Readonly<Record<string, Shape>> = JSON_SHAPES

/** Commands that print JSON. */
export const JSON_COMMANDS = namesWith(Object.keys(SHAPES))

/** The shape that a command prints. */
export async function jsonShapeOf(name: string): Promise<Shape | undefined> {
  return isOperation(name) ? (await loadOperation(name)).cli.shape : SHAPES[name]
}

/** `plimsoll schema`: the parts of other commands' output that programs may count on. */
export async function printSchema(
  io: Io,
  words: readonly string[],
  { json: asJson }: { json?: boolean },
): Promise<void> {
  if (words.length === 0) {
    if (asJson) printJson(io, 'schema', [...JSON_COMMANDS])
    else for (const command of JSON_COMMANDS) io.out(`${command}\n`)
    return
  }
  const given = words.join(' ')
  const shape = JSON_COMMANDS.includes(given) ? await jsonShapeOf(given) : undefined
  if (shape === undefined) throw new CommandError(`no command "${given}" prints JSON: ${hint(given)}`)
  printJson(io, 'schema', { ...jsonSchemaOf(shape), title: `plimsoll ${given} --json` })
}

function hint(given: string): string {
  const below = JSON_COMMANDS.filter((command) => command.startsWith(`${given} `))
  if (below.length > 0) return `there are ${below.join(', ')}`
  const near = suggest(given, JSON_COMMANDS)
  return near === undefined ? 'plimsoll schema lists those that do' : `did you mean ${near}?`
}
