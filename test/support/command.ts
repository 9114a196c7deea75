import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Io } from '../../src/cli/io.ts'
import { runCommandLine } from '../../src/cli/program.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { MAIN } from './main.ts'

export interface Ran {
  code: number | null
  out: string
  err: string
}

/** `plimsoll ARGS` in a folder, as a user runs it. */
export function plimsoll(args: readonly string[], cwd: string, env: Record<string, string> = {}): Promise<Ran> {
  return run(process.execPath, [MAIN, ...args], cwd, env)
}

export async function run(
  command: string,
  args: readonly string[],
  cwd: string,
  env: Record<string, string> = {},
): Promise<Ran> {
  return begin(command, args, cwd, env).ended
}

/** Not waited for: what it has said so far, and its end. */
export function begin(command: string, args: readonly string[], cwd: string, env: Record<string, string> = {}) {
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  const said = { out: '', err: '' }
  child.stdout.on('data', (data) => (said.out += data))
  child.stderr.on('data', (data) => (said.err += data))
  const ended = once(child, 'close').then(
    ([code]): Ran => ({
      out: said.out,
      err: withoutProgress(said.err).replaceAll(NO_DAEMON, ''),
      code: code as number | null,
    }),
  )
  return { child, said, ended }
}

/** The same within this process: sooner, and at a time of the test's choosing. */
export async function plimsollHere(args: readonly string[], cwd: string, more: Partial<Io> = {}): Promise<Ran> {
  const ran = await plimsollSays(args, cwd, more)
  return { ...ran, err: ran.err.replaceAll(NO_DAEMON, '') }
}

/** The same with the note of where it was answered. */
export async function plimsollSays(args: readonly string[], cwd: string, more: Partial<Io> = {}): Promise<Ran> {
  const ran = { out: '', err: '' }
  const code = await runCommandLine(args, {
    ...anIo({ cwd, ...more }),
    out: (text) => (ran.out += text),
    err: (text) => (ran.err += text),
  })
  return { out: ran.out, err: withoutProgress(ran.err), code }
}

/** Without what goes with a secret that is shown once, or with a link. */
export function withoutNotes(err: string): string {
  return err.replaceAll(/^plimsoll: (Keep it|it connects account).*\n/gm, '')
}

export const NO_DAEMON = 'plimsoll: no daemon runs here: this is answered from its data\n'

/** Without the lines of progress, which come from two seconds of work on. */
function withoutProgress(err: string): string {
  return err.replaceAll(
    /^(?!plimsoll:)[\w -]+(, [^,\n]+ so far|: [\d,]+( of [\d,]+)?(, [\d,]+\/(s|min))?(, [^,\n]+ left)?)\n/gm,
    '',
  )
}

/** What a command sees of the world in a test: no terminal, nothing piped in, and `text()` is all that it said. */
export function anIo(more: Partial<Io> = {}): Io & { text(): string } {
  let text = ''
  const write = (words: string) => {
    text += words
  }
  return {
    env: {},
    cwd: '/',
    out: write,
    err: write,
    drained: async () => {},
    isTerminal: false,
    inIsTerminal: false,
    errIsTerminal: false,
    columns: 200,
    errColumns: 80,
    hasColours: false,
    stdin: nothing,
    hideTyping: () => {},
    stop: new AbortController().signal,
    onHangUp: () => {},
    clock: systemClock,
    random: Math.random,
    ...more,
    text: () => text,
  }
}

async function* nothing(): AsyncGenerator<Buffer> {}

export interface HelpText {
  /** The words that lead to the command. */
  path: string[]
  code: number
  text: string
}

export async function helpOf(path: readonly string[], columns = 120): Promise<HelpText> {
  const io = anIo({ columns })
  const code = await runCommandLine([...path, '--help'], io)
  return { path: [...path], code, text: io.text() }
}

/** Of every command that does something: those that the help names, and theirs. */
export async function helpTexts(...path: string[]): Promise<HelpText[]> {
  const help = await helpOf(path)
  const [, list = ''] = help.text.split('Commands:\n')
  const names = [...list.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name = '']) => name).filter((name) => name !== 'help')
  if (names.length === 0) return [help]
  return (await Promise.all(names.map((name) => helpTexts(...path, name)))).flat()
}

/** Command lines as they stand there to be copied. */
export function examplesIn({ text }: HelpText): string[] {
  return [...text.matchAll(/^ {2}\$ (.+)$/gm)].map(([, line = '']) => line)
}
