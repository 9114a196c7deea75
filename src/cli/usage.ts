import type { Command } from 'commander'

/** Wrong usage in one line, with the way out: what commander says of it in up to three. */
export function usageLine(command: Command, said: string): string {
  return `plimsoll: ${usageProblem(said)} (${pathOf(command)} --help tells more)\n`
}

/** What is wrong, without who says it. */
export function usageProblem(said: string): string {
  return said
    .trim()
    .replace(/^error: /, '')
    .replace(/^command-argument value '(.*)' is invalid for argument '(.*)'\. (.)/s, (_, given, name, first) =>
      invalid(name, given, first),
    )
    .replace(/^option '(?:-\w, )?(\S+).*?' argument '(.*)' is invalid\. (.)/s, (_, name, given, first) =>
      invalid(name, given, first),
    )
    .replace(/\n?\(Did you mean (.*)\?\)$/, ': did you mean $1?')
    .replace(/\.$/, '')
    .replaceAll('\n', ' ')
}

function invalid(name: string, given: string, first: string): string {
  return `${name} can't be '${given}': ${first.toLowerCase()}`
}

function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`
}
