import { expect, test } from 'vitest'
import { runCommandLine } from '../../src/cli/program.ts'
import { anIo } from '../support/an-io.ts'

async function help(...args: string[]): Promise<{ code: number; text: string }> {
  const io = anIo({ columns: 120 })
  const code = await runCommandLine([...args, '--help'], io)
  return { code, text: io.text() }
}

/** The commands that a help text names, and theirs. */
async function commandsBelow(...args: string[]): Promise<string[][]> {
  const { code, text } = await help(...args)
  expect({ args, code }).toEqual({ args, code: 0 })
  const [, list = ''] = text.split('Commands:\n')
  const names = [...list.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name = '']) => name).filter((name) => name !== 'help')
  if (names.length === 0) return [args]
  return (await Promise.all(names.map((name) => commandsBelow(...args, name)))).flat()
}

test('every command has --help with an example', async () => {
  const commands = await commandsBelow()
  expect(commands.length).toBeGreaterThan(15)
  for (const args of commands) {
    const { text } = await help(...args)
    expect(text).toMatch(new RegExp(`Example:\\n {2}\\$ plimsoll ${args.join(' ')}`))
  }
})
