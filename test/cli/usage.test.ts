import { expect, test } from 'vitest'
import { examplesIn, helpOf, helpTexts, plimsollHere } from '../support/command.ts'

test.each([
  ['acounts', "unknown command 'acounts': did you mean accounts? (plimsoll --help shows more)"],
  ['accounts lst', "unknown command 'lst': did you mean list? (plimsoll accounts --help shows more)"],
  ['accounts status', "unknown command 'status' (plimsoll accounts --help shows more)"],
  ['accounts show', "missing required argument 'account' (plimsoll accounts show --help shows more)"],
  [
    'accounts list --state asleep',
    "--state can't be 'asleep': allowed choices are active, failing, parked, reauthorize, uninstalling, uninstalled, must-reconnect, paused (plimsoll accounts list --help shows more)",
  ],
  ['status --jsn', "unknown option '--jsn': did you mean --json? (plimsoll status --help shows more)"],
])('wrong usage, plimsoll %s, is one line with the way out, and exit code 2', async (line, said) => {
  expect(await plimsollHere(line.split(' '), '/')).toEqual({ code: 2, out: '', err: `plimsoll: ${said}\n` })
})

test('wrong usage of check is unknown to a monitoring system, in the line that it shows', async () => {
  expect(await plimsollHere(['check', '--foo'], '/')).toEqual({
    code: 3,
    out: "PLIMSOLL UNKNOWN - wrong usage: unknown option '--foo'\n",
    err: "plimsoll: unknown option '--foo' (plimsoll check --help shows more)\n",
  })
})

test('a config that is not there is said to be not there, with the ways to name one', async () => {
  const err =
    'plimsoll: there is no config file NAME: name it with --config FILE or PLIMSOLL_CONFIG, or write one with plimsoll init\n'
  const said = (name: string) => ({ code: 1, out: '', err: err.replace('NAME', name) })
  expect(await plimsollHere(['status'], '/')).toEqual(said('config/plimsoll.yaml'))
  expect(await plimsollHere(['status', '-c', 'x.yaml'], '/')).toEqual(said('x.yaml'))
  expect(await plimsollHere(['--config', 'x.yaml', 'status'], '/')).toEqual(said('x.yaml'))
  expect(await plimsollHere(['status', '--config=x.yaml', '--no-color'], '/')).toEqual(said('x.yaml'))
  expect(await plimsollHere(['status'], '/', { env: { PLIMSOLL_CONFIG: 'y.yaml' } })).toEqual(said('y.yaml'))
  expect(await plimsollHere(['status', '-c', 'x.yaml'], '/', { env: { PLIMSOLL_CONFIG: 'y' } })).toEqual(said('x.yaml'))
})

test('every command has --help with what it does, and an example of its own', async () => {
  const commands = await helpTexts()
  expect(commands.length).toBeGreaterThan(15)
  for (const help of commands) {
    const { path, code, text } = help
    const name = path.join(' ')
    expect(code, name).toBe(0)
    expect(text.split('\n\n')[1], name).toMatch(/\w+ \w+/)
    expect(examplesIn(help).length, name).toBeGreaterThan(0)
    for (const example of examplesIn(help)) expect(`${example} `, name).toContain(`plimsoll ${name} `)
  }
})

test('every option says what it is for', async () => {
  for (const { path, text } of await helpTexts()) {
    const [, options = ''] = text.split('Options:\n')
    const lines = (options.split('\n\n')[0] ?? '').split('\n').filter((line) => /^ {2}-/.test(line))
    expect(lines.length, path.join(' ')).toBeGreaterThan(0)
    for (const line of lines) expect(line, path.join(' ')).toMatch(/^ {2}(-\w, )?--[a-z-]+( <[a-z=A-Z]+>)? {2,}\S.+/)
  }
})

test('help fits a terminal of 80 columns but for the examples, which are there to be copied', async () => {
  for (const { path } of await helpTexts()) {
    const { text } = await helpOf(path, 80)
    const long = text.split('\n').filter((line) => line.length > 80 && !line.startsWith('  $ '))
    expect(long, path.join(' ')).toEqual([])
  }
})
