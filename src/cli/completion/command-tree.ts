import type { Argument, Command, Option } from 'commander'

/** What stands at one place of the command line: words, a file, a receiver's name, or anything. */
export type Values = { is: 'words'; words: string[] } | { is: 'files' | 'receivers' | 'anything' }

export interface KnownOption {
  /** As typed: `-c`, `--config`. */
  names: string[]
  description: string
  /** Absent: it takes none. */
  values?: Values
}

export interface KnownCommand {
  /** The words that lead to it; none for the program itself. */
  path: string[]
  description: string
  commands: { name: string; description: string }[]
  options: KnownOption[]
  /** What its arguments are; those beyond the last are as the last. */
  argument: Values
}

/** The whole program as a shell has to know it, read from the program itself so that both say the same. */
export function commandTree(program: Command): KnownCommand[] {
  return knownCommands(program, [], program.createHelp().visibleOptions(program))
}

function knownCommands(command: Command, path: string[], ofProgram: readonly Option[]): KnownCommand[] {
  const help = command.createHelp()
  // What `help` says, --help says too.
  const commands = help.visibleCommands(command).filter((child) => child.name() !== 'help')
  const own = help.visibleOptions(command)
  const everywhere = ofProgram.filter(
    (option) => option.long !== '--version' && !own.some(({ long }) => long === option.long),
  )
  const [first] = command.registeredArguments
  const known: KnownCommand = {
    path,
    description: command.description(),
    commands: commands.map((child) => ({ name: child.name(), description: child.description() })),
    options: [...own, ...everywhere].map(knownOption),
    argument: first === undefined ? NOTHING : valuesOf(first.name(), first),
  }
  return [known, ...commands.flatMap((child) => knownCommands(child, [...path, child.name()], ofProgram))]
}

const NOTHING: Values = { is: 'words', words: [] }

function knownOption(option: Option): KnownOption {
  const { short, long, description } = option
  const [, placeholder] = /[<[]([\w-]+)/.exec(option.flags) ?? []
  return {
    names: [short, long].filter((name) => name !== undefined),
    description,
    ...(placeholder === undefined ? {} : { values: valuesOf(placeholder, option) }),
  }
}

function valuesOf(placeholder: string, { argChoices }: Pick<Option | Argument, 'argChoices'>): Values {
  if (argChoices !== undefined) return { is: 'words', words: [...argChoices] }
  if (placeholder === 'file') return { is: 'files' }
  return { is: placeholder === 'receiver' ? 'receivers' : 'anything' }
}

/** A description as a shell shows it beside a word: its first sentence or so. */
export function shortly(description: string): string {
  const [first = ''] = description.split(/(?:;|\.) /)
  return first.length <= 72 ? first : `${first.slice(0, 71).trimEnd()}…`
}
