import { beforeEach, expect, test } from 'vitest'
import { seedAccount } from '../support/accounts.ts'
import { plimsollHere } from '../support/command.ts'
import { commandsOfFile } from './commands-of-file.ts'

const installed = commandsOfFile()
const HUB_ID = 1234567

beforeEach(async () => {
  await installed.store.flushall()
  await seedAccount(installed.store, installed.keys, { hubId: HUB_ID, obtainedAt: installed.clock.now() })
  await installed.run('admin-tokens', 'add', 'billing', '--scopes', 'read')
})

async function* typed(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text)
}

/** A command on a terminal at which a person types this. */
const onTerminal = (args: readonly string[], text: string) =>
  plimsollHere([...args, '--config', installed.config], installed.folder, {
    clock: installed.clock,
    inIsTerminal: true,
    stdin: () => typed(text),
  })

/** Each command that destroys, and the words that go on. */
const DESTROYING = [
  [['accounts', 'uninstall', 'acme.example.com'], 'acme.example.com'],
  [['admin-tokens', 'remove', 'billing'], 'billing'],
  [['keys', 'rekey'], 'yes'],
  [['outbox', 'replay', '--since', '2h'], 'yes'],
] as const

test.each(DESTROYING)('%s asks on a terminal, and goes on only with the right words', async (args, answer) => {
  for (const text of ['', '\n', 'no\n', 'y\n']) {
    const { code, err } = await onTerminal(args, text)
    expect({ text, code, err }).toEqual({ text, code: 1, err: expect.stringContaining('nothing was changed') })
  }
  const { code, err } = await onTerminal(args, `${answer}\n`)
  expect({ code, err }).toEqual({ code: 0, err: expect.stringContaining(`Type ${answer} to go on`) })
})

test.each(DESTROYING)('%s asks nothing of a script, or with --yes', async (args) => {
  expect(await onTerminal([...args, '--yes'], '')).toMatchObject({ code: 0, err: '' })
  await installed.run('admin-tokens', 'add', 'billing', '--scopes', 'read')
  expect(await installed.run(...args)).toMatchObject({ code: 0, err: '' })
})
