import { runCommandLine } from '../../src/cli/program.ts'
import { anIo } from './an-io.ts'

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
