import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { plimsoll, plimsollHere, run } from '../support/command.ts'
import { MAIN } from '../support/main.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const

let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'plimsoll-completion-'))
  writeFileSync(join(folder, 'plimsoll'), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`)
  chmodSync(join(folder, 'plimsoll'), 0o755)
  writeFileSync(
    join(folder, 'a config.yaml'),
    'receivers: { ops-mail: {}, ops-hook: {}, "$(touch owned)": {} }\nbroken: [',
  )
  writeFileSync(join(folder, 'fine.yaml'), 'receivers:\n  ops-mail: {}\n  ops-hook: {}\n  "$(touch owned)": {}\n')
  for (const shell of SHELLS) {
    const { code, out, err } = await plimsollHere(['completion', shell], folder)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    writeFileSync(join(folder, `plimsoll.${shell}`), out)
  }
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const has = async (shell: string) => (await run('sh', ['-c', `command -v ${shell}`], folder)).code === 0

/** What TAB offers after the last word; the words as bash splits them. */
async function tab(...words: string[]): Promise<string[]> {
  const line = words.map((word) => `'${word}'`).join(' ')
  const script = `PATH="$PWD:$PATH"; source plimsoll.bash
    COMP_WORDS=(plimsoll ${line}); COMP_CWORD=${words.length}
    _plimsoll; printf '%s\\n' "\${COMPREPLY[@]}"`
  const { code, out, err } = await run('bash', ['--norc', '-c', script], folder)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  return out.split('\n').filter((word) => word !== '')
}

describe('a real bash', () => {
  test('completes commands, and those below them', async () => {
    expect(await tab('ac')).toEqual(['accounts'])
    expect(await tab('accounts', '')).toEqual(expect.arrayContaining(['list', 'show', 'connect', 'uninstall']))
    expect(await tab('accounts', 'un')).toEqual(['uninstall'])
    expect(await tab('-c', 'x.yaml', 'ac')).toEqual(['accounts'])
  })

  test('completes options wherever they may stand, and the values that they have a choice of', async () => {
    expect(await tab('--')).toEqual(expect.arrayContaining(['--version', '--config', '--no-color', '--help']))
    expect(await tab('accounts', 'list', '--st')).toEqual(['--state', '--stale'])
    expect(await tab('accounts', '--config', 'list', 'list', '--sta')).toEqual(['--state', '--stale'])
    expect(await tab('accounts', 'list', '--state', 'pa')).toEqual(['parked', 'paused'])
    expect(await tab('accounts', 'list', '--state', '=', 'pa')).toEqual(['parked', 'paused'])
    expect(await tab('accounts', 'list', '--state', 'parked', '--js')).toEqual(['--json'])
    expect(await tab('alerts', 'silence', '--comment', '')).toEqual([])
    expect(await tab('completion', '')).toEqual([...SHELLS])
  })

  test('completes files where a file is wanted, and receivers of the config that the line names', async () => {
    expect(await tab('config', 'check', 'a')).toEqual(['a config.yaml'])
    expect(await tab('status', '--config', 'fi')).toEqual(['fine.yaml'])
    expect(await tab('alerts', 'test', '--config', 'fine.yaml', '')).toEqual(['ops-mail', 'ops-hook'])
    expect(await tab('outbox', 'replay', '--config', '=', 'fine.yaml', '--receiver', 'ops-h')).toEqual(['ops-hook'])
  })

  test('says nothing where nothing is known; of a file that is being edited it says what can be read', async () => {
    expect(await tab('alerts', 'test', '')).toEqual([])
    expect(await tab('alerts', 'test', '-c', 'plimsoll', '')).toEqual([])
    expect(await tab('alerts', 'test', '-c', 'a config.yaml', '')).toEqual(['ops-mail', 'ops-hook'])
    expect(await tab('no-such-command', 'x', '')).not.toContain('list')
  })
})

test('the lines of the guide set it up', async () => {
  const guide = readFileSync(new URL('../../config/guide/api.md', import.meta.url), 'utf8')
  const lineFor = (shell: string) => new RegExp(`\`\`\`${shell}\\n(.*)\\n`).exec(guide)?.[1] ?? ''
  const script = `PATH="$PWD:$PATH"; ${lineFor('bash')}\ncomplete -p plimsoll`
  expect(await run('bash', ['--norc', '-c', script], folder)).toMatchObject({
    code: 0,
    err: '',
    out: 'complete -F _plimsoll plimsoll\n',
  })
})

test('zsh and fish take their scripts, where this machine has them', async () => {
  if (await has('zsh')) expect(await run('zsh', ['-n', 'plimsoll.zsh'], folder)).toMatchObject({ code: 0, err: '' })
  if (!(await has('fish'))) return
  expect(await run('fish', ['--no-execute', 'plimsoll.fish'], folder)).toMatchObject({ code: 0, err: '' })
  const ask = (line: string) => run('fish', ['-c', `source plimsoll.fish; complete -C '${line}'`], folder)
  expect((await ask('plimsoll ac')).out).toMatch(/^accounts\t/)
  expect((await ask('plimsoll -c x accounts list --state pa')).out).toMatch(/^parked\t/)
})

test('every command and option of the help is offered, so that neither drifts from the other', async () => {
  const completed = async (...words: string[]) => (await plimsoll(['__complete', ...words], folder)).out
  for (const command of ['', 'accounts list', 'alerts silence', 'outbox replay', 'sandbox']) {
    const words = command.split(' ').filter(Boolean)
    const { out } = await plimsollHere([...words, '--help'], folder)
    const options = [...out.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(([, name = '']) => name)
    const offered = await completed(...words, '--')
    for (const name of options) expect(offered, command).toContain(`${name}\t`)
    const commands = [...(out.split('Commands:\n')[1] ?? '').matchAll(/^ {2}([a-z-]+)/gm)].map(([, name = '']) => name)
    for (const name of commands.filter((one) => one !== 'help')) {
      expect(await completed(...words, name.slice(0, 2))).toContain(`${name}\t`)
    }
  }
})

test('what a shell asks while its user types is answered soon, and never with an error', async () => {
  const ask = (...args: string[]) => plimsoll(['__complete', ...args], folder)
  const receivers = { code: 0, out: 'ops-mail\nops-hook\n', err: '' }
  expect(await ask('alerts', 'test', '-c', 'fine.yaml', '')).toEqual(receivers)
  expect(await ask('alerts', 'test', '--config=fine.yaml', '')).toEqual(receivers)
  expect(await ask('accounts', 'list', '--state=pa')).toEqual({
    code: 0,
    out: '--state=parked\n--state=paused\n',
    err: '',
  })
  expect(await ask('alerts', 'test', '-c')).toEqual({ code: 0, out: '-c\tconfig file\n', err: '' })
  expect(await ask('hubs', 'x', '')).toMatchObject({ code: 0, err: '' })
  expect(await ask()).toMatchObject({ code: 0, err: '' })
})

test('another shell than these three is wrong usage', async () => {
  const { code, err } = await plimsollHere(['completion', 'tcsh'], folder)
  expect(code).toBe(2)
  expect(err).toContain('allowed choices are bash, zsh, fish')
})
