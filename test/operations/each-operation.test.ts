import { beforeAll, describe, expect, test } from 'vitest'
import { encodeState, openedState } from '../../src/alerts/alert-state.ts'
import { completions } from '../../src/cli/completion.ts'
import { OPERATIONS } from '../../src/operations/all-operations.ts'
import { describeCommands } from '../../src/operations/describe-commands.ts'
import { commandsOfFile } from '../cli/commands-of-file.ts'
import { seedAccount } from '../support/accounts.ts'
import { faultsOf } from '../support/json-schemas.ts'
import { exampleArgs } from '../support/operation-example.ts'

/** What every operation that is a command has by being one: completion, and answers for people and for programs. */

const installed = commandsOfFile()

/** The accounts, the alert and the silence of all examples. */
beforeAll(async () => {
  const { store, keys, clock } = installed
  await seedAccount(store, keys, { hubId: 1234567, hubDomain: 'acme.example.com', obtainedAt: clock.now() })
  await seedAccount(store, keys, { hubId: 7654321, hubDomain: 'globex.example.com', obtainedAt: clock.now() })
  const opened = encodeState(openedState('critical', 'full', clock.now()))
  await store.hset(keys.account(1234567).alerts, 'overall', opened)
  const silence = {
    matchers: [{ name: 'kind', value: '*' }],
    author: 'a',
    comment: 'c',
    createdAt: 1,
    endsAt: clock.now() + 60_000,
  }
  await store.hset(keys.delivery.silences, 's-4k7mp', JSON.stringify(silence))
  await store.sadd(keys.alerting, 1234567)
})

const commands = describeCommands(OPERATIONS).map((command) => {
  const operation = OPERATIONS.find((one) => one.command?.name === command.name)
  if (operation === undefined) throw new Error(`${command.name} is no operation`)
  return { name: command.name, command, operation }
})

/** What asks the provider or a receiver, remarks something, or ends with another code than 0: its own test has one. */
const ELSEWHERE = new Set([
  'accounts poll',
  'accounts reconnect-link',
  'accounts refresh',
  'alerts test',
  'status',
  'check',
  'admin-tokens add',
  'admin-tokens remove',
])

describe.each(commands)('$name', ({ name, command, operation }) => {
  test('is completed, with each of its options', async () => {
    const place = { env: {}, cwd: '/' }
    const words = name.split(' ')
    const offered = (lines: string[]) => lines.map((line) => line.split('\t')[0])
    expect(offered(await completions(place, [...words.slice(0, -1), '']))).toContain(words.at(-1))
    const options = command.options.filter(({ nameOf }) => nameOf === undefined).map(({ called }) => `--${called}`)
    const names = offered(await completions(place, [...words, '--']))
    expect(names).toEqual(expect.arrayContaining(['--json', '--url', ...options]))
  })

  if (operation.example === undefined || ELSEWHERE.has(name)) return
  test('does its example, for people and as its schema has it', async () => {
    const args = [...name.split(' '), ...exampleArgs(operation, command)]
    const { code, out, err } = await installed.run(...args, '--json')
    expect({ args, code, err }).toEqual({ args, code: 0, err: '' })
    const json = JSON.parse(out)
    expect(faultsOf(operation.output, command.isList ? { items: json } : json)).toEqual([])
    const shown = await installed.run(...args)
    expect({ args, code: shown.code, err: shown.err, isShown: shown.out.length > 5 }).toEqual({
      args,
      code: 0,
      err: '',
      isShown: true,
    })
  })
})
