import { expect, test } from 'vitest'
import { commandsBelow, help } from '../support/commands.ts'

test('every command has --help with an example', async () => {
  const commands = await commandsBelow()
  expect(commands.length).toBeGreaterThan(15)
  for (const args of commands) {
    const { text } = await help(...args)
    expect(text).toMatch(new RegExp(`Example:\\n {2}\\$ plimsoll ${args.join(' ')}`))
  }
})
