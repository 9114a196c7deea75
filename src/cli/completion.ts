import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Argument, Option } from 'commander'
import type { CommandSpec } from './arguments.ts'
import { DEFAULT_CONFIG, FIRST_WORDS, optionsOf, programOptions, readCommands } from './commands.ts'
import type { Io } from './io.ts'
import { FILES } from './shell-scripts.ts'

/**
 * `plimsoll __complete WORDS...`: candidates for the last word. A shell asks while its user types: they come from the
 * declarations alone, and are empty where nothing is known.
 */
export async function completions(io: Place, given: readonly string[]): Promise<string[]> {
  // bash hands `--option=value` over in three words.
  const words = given.slice(0, -1).filter((word) => word !== '=')
  const last = given.at(-1) === '=' ? '' : (given.at(-1) ?? '')
  const commands = await readCommands()
  const { path, option } = placeOf(commands, words)
  const [, name = '', typed] = /^(--[\w-]+)=(.*)$/s.exec(last) ?? []
  const assigned = typed === undefined ? option : optionAt(commands, path, name)
  if (assigned !== undefined) {
    const found = await valuesOf(assigned, io, words)
    return typed === undefined
      ? starting(found, last)
      : starting(found, typed).map((value) => (value === FILES ? value : `${name}=${value}`))
  }
  if (last.startsWith('-')) return starting(optionsAt(commands, path).flatMap(namesOf), last)
  const below = commandsAt(commands, path)
  const [argument] = commands.get(path)?.args ?? []
  return starting(below.length > 0 || argument === undefined ? below : await valuesOf(argument, io, words), last)
}

/** The command that the words lead to, and the option whose value comes next. */
type Commands = ReadonlyMap<string, CommandSpec>

function placeOf(commands: Commands, words: readonly string[]): { path: string; option: Option | undefined } {
  let [path, option]: [string, Option | undefined] = ['', undefined]
  for (const word of words) {
    if (option !== undefined) option = undefined
    else if (word.startsWith('-')) option = optionAt(commands, path, word)
    else if (commandsAt(commands, path).some((line) => line.split('\t')[0] === word)) path = `${path} ${word}`.trim()
  }
  return { path, option }
}

function optionAt(commands: Commands, path: string, name: string): Option | undefined {
  return optionsAt(commands, path).find(
    (one) => (one.short === name || one.long === name) && (one.required || one.optional),
  )
}

function optionsAt(commands: Commands, path: string): Option[] {
  const spec = commands.get(path)
  const own = spec === undefined ? [] : optionsOf(spec)
  const more = [
    new Option('-h, --help', 'show help'),
    ...(path === '' ? [new Option('-V, --version', 'show the version')] : []),
  ]
  return [...own, ...programOptions().filter(({ long }) => !own.some((one) => one.long === long)), ...more]
}

function namesOf({ short, long, description }: Option): string[] {
  return [short, long].filter((name) => name !== undefined).map((name) => described(name, description))
}

function commandsAt(commands: Commands, path: string): string[] {
  if (path !== '') {
    return [...commands].flatMap(([name, { is }]) =>
      name.startsWith(`${path} `) ? [described(name.slice(path.length + 1), is)] : [],
    )
  }
  return Object.keys(FIRST_WORDS).map((name) => described(name, FIRST_WORDS[name] ?? commands.get(name)?.is ?? ''))
}

type Place = Pick<Io, 'env' | 'cwd'>

async function valuesOf(one: Option | Argument, io: Place, words: readonly string[]): Promise<string[]> {
  if (one.argChoices !== undefined) return [...one.argChoices]
  const name = 'flags' in one ? (/<([\w-]+)/.exec(one.flags)?.[1] ?? '') : one.name()
  if (name === 'file') return [FILES]
  return name === 'receiver' ? receivers(io, words) : []
}

async function receivers(io: Place, words: readonly string[]): Promise<string[]> {
  try {
    const { receiverNames } = await import('../../config/schema/source.ts')
    const file = configFile(words) ?? (io.env.PLIMSOLL_CONFIG || DEFAULT_CONFIG)
    return receiverNames(readFileSync(resolve(io.cwd, file), 'utf8')).filter((name) => /^[\w.-]+$/.test(name))
  } catch {
    return []
  }
}

function configFile(words: readonly string[]): string | undefined {
  const assigned = words.find((word) => word.startsWith('--config='))?.slice('--config='.length)
  const at = words.findIndex((word) => word === '-c' || word === '--config')
  return assigned ?? (at < 0 ? undefined : words[at + 1])
}

function starting(lines: readonly string[], typed: string): string[] {
  return lines.filter((line) => line === FILES || line.startsWith(typed))
}

/** A description as a shell shows it beside a word: its first sentence or so. */
function described(word: string, description: string): string {
  return `${word}\t${(description.split(/[;.] /)[0] ?? '').slice(0, 72)}`
}
