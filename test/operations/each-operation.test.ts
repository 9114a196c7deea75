import { beforeAll, describe, expect, test } from 'vitest'
import { encodeState, openedState } from '../../src/alerts/alert-state.ts'
import { completions } from '../../src/cli/completion.ts'
import { API_ROUTES } from '../../src/http/api/serve-api.ts'
import { fieldsOf } from '../../src/operations/field.ts'
import { loadOperation, OPERATION_NAMES } from '../../src/operations/operations.ts'
import { commandsOfFile } from '../cli/commands-of-file.ts'
import { seedAccount } from '../support/accounts.ts'
import { faultsOf } from '../support/json-schemas.ts'
import { exampleArgs } from '../support/operation-example.ts'

/** What every operation has by being one: a command, a route, a schema, completion. Its example is the same for both. */

const installed = commandsOfFile()

/** The accounts, the alert and the silence of all examples. */
beforeAll(async () => {
  const { store, keys, clock } = installed
  await seedAccount(store, keys, { hubId: 1234567, hubDomain: 'acme.example.com', obtainedAt: clock.now() })
  await seedAccount(store, keys, { hubId: 7654321, hubDomain: 'globex.example.com', obtainedAt: clock.now() })
  const opened = encodeState(openedState('critical', 'full', clock.now()))
  await store.hset(keys.account(1234567).alerts, 'overall', opened)
  const silence = { matchers: [['kind', '*']], author: 'a', comment: 'c', createdAt: 1, endsAt: clock.now() + 60_000 }
  await store.hset(keys.delivery.silences, 's-4k7mp', JSON.stringify(silence))
  await store.sadd(keys.partition(keys.partitionOf(1234567)).alerting, 1234567)
})

const operations = await Promise.all(OPERATION_NAMES.map(async (name) => [name, await loadOperation(name)] as const))

describe.each(operations)('%s', (name, operation) => {
  test('has the route and the scope that it says', () => {
    const [method, path] = operation.route.split(' ')
    expect(API_ROUTES.filter((route) => route.method === method && route.path === path)).toMatchObject([
      { id: operation.id, scope: operation.scope ?? (method === 'GET' ? 'read' : 'write') },
    ])
  })

  test('is completed, with each of its options', async () => {
    const place = { env: {}, cwd: '/' }
    const words = name.split(' ')
    const offered = (lines: string[]) => lines.map((line) => line.split('\t')[0])
    expect(offered(await completions(place, [...words.slice(0, -1), '']))).toContain(words.at(-1))
    const positional = operation.args ?? ''
    const options = fieldsOf(operation.takes, 'command').filter(([, , option]) => !positional.includes(option))
    const names = offered(await completions(place, [...words, '--']))
    expect(names).toEqual(expect.arrayContaining(['--json', ...options.map(([, , option]) => `--${option}`)]))
  })

  // What gets tokens asks the provider: its own test has one.
  if (operation.writesTokens === true) return
  test('does its example, for people and as its schema has it', async () => {
    const args = [...name.split(' '), ...exampleArgs(operation)]
    const { code, out, err } = await installed.run(...args, '--json')
    expect({ args, code, err }).toEqual({ args, code: 0, err: '' })
    expect(faultsOf(operation.cli.shape, JSON.parse(out))).toEqual([])
    const shown = await installed.run(...args)
    expect({ args, code: shown.code, err: shown.err, isShown: shown.out.length > 5 }).toEqual({
      args,
      code: 0,
      err: '',
      isShown: true,
    })
  })
})
