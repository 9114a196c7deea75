import { suggest } from '../text/suggest.ts'
import { jsonSchemaOf } from '../views/shapes/words.ts'
import { CommandError, type Io, printJson } from './io.ts'
import { JSON_COMMANDS, JSON_SHAPES } from './json-shapes.ts'

/** `plimsoll schema`: what programs may count on in the output of other commands. */
export function printSchema(io: Io, words: readonly string[], { json: asJson }: { json?: boolean }): void {
  if (words.length === 0) {
    if (asJson) printJson(io, 'schema', [...JSON_COMMANDS])
    else for (const command of JSON_COMMANDS) io.out(`${command}\n`)
    return
  }
  const given = words.join(' ')
  const command = JSON_COMMANDS.find((known) => known === given)
  if (command === undefined) throw new CommandError(`no command "${given}" prints JSON: ${hint(given)}`)
  const title = `plimsoll ${command} --json`
  printJson(io, 'schema', { ...jsonSchemaOf(JSON_SHAPES[command]), title })
}

function hint(given: string): string {
  const below = JSON_COMMANDS.filter((command) => command.startsWith(`${given} `))
  if (below.length > 0) return `there are ${below.join(', ')}`
  const near = suggest(given, JSON_COMMANDS)
  return near === undefined ? 'plimsoll schema lists those that do' : `did you mean ${near}?`
}
