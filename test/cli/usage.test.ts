import { expect, test } from 'vitest'
import { examplesIn, helpOf, helpTexts, plimsollHere } from '../support/command.ts'

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
