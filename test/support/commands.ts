import { expect } from 'vitest'
import { runCommandLine } from '../../src/cli/program.ts'
import { anIo } from './an-io.ts'

export async function help(...args: string[]): Promise<{ code: number; text: string }> {
  const io = anIo({ columns: 120 })
  const code = await runCommandLine([...args, '--help'], io)
  return { code, text: io.text() }
}

/** The commands that a help text names, and theirs. */
export async function commandsBelow(...args: string[]): Promise<string[][]> {
  const { code, text } = await help(...args)
  expect({ args, code }).toEqual({ args, code: 0 })
  const [, list = ''] = text.split('Commands:\n')
  const names = [...list.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name = '']) => name).filter((name) => name !== 'help')
  if (names.length === 0) return [args]
  return (await Promise.all(names.map((name) => commandsBelow(...args, name)))).flat()
}
