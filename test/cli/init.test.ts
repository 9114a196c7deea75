import { spawnSync } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { plimsollHere, run } from '../support/command.ts'
import { MAIN } from '../support/main.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'plimsoll-init-'))
  writeFileSync(join(folder, 'secret.txt'), 'a-client-secret\n')
  writeFileSync(join(folder, 'smtp.txt'), 'smtps://user:pass@mail.example.com:465\n')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const APP = ['--client-id', 'my-app', '--client-secret', 'file:secret.txt', '--public-url', 'http://127.0.0.1:8088']
const MAIL = ['--smtp', 'file:smtp.txt', '--mail-to', 'ops@example.com,ann@example.com']
const HOOK = ['--webhook', 'https://hooks.example.com/plimsoll']
const init = (...args: string[]) => plimsollHere(['init', ...args], folder)
const at = (name: string) => join(folder, name)

test.each([
  ['mail', MAIL, 'ops:\n    type: email'],
  ['webhook', HOOK, 'hook:\n    type: webhook'],
  ['both', [...MAIL, ...HOOK], '- ops\n      - hook'],
])(
  'with flags for %s it writes a short config that config check accepts, for this user alone',
  async (name, flags, line) => {
    const file = `sub/${name}.yaml`
    const { code, out, err } = await init(...APP, ...flags, '-c', file)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toContain(`wrote ${file}`)
    const text = readFileSync(at(file), 'utf8')
    expect(text).toContain(line)
    expect(text).toContain('listen: 127.0.0.1:8088')
    expect(text.trim().split('\n').length).toBeLessThan(40)
    expect(statSync(at(file)).mode & 0o777).toBe(0o600)
    expect(await plimsollHere(['config', 'check', file], folder)).toMatchObject({ code: 0 })
  },
)

test('a file that is there stays as it is, unless --force is given', async () => {
  writeFileSync(at('mine.yaml'), 'mine')
  expect(await init(...APP, ...HOOK, '-c', 'mine.yaml')).toMatchObject({
    code: 1,
    err: 'plimsoll: mine.yaml exists already: overwrite it with --force, or name another one with --config\n',
  })
  expect(readFileSync(at('mine.yaml'), 'utf8')).toBe('mine')
  expect((await init(...APP, ...HOOK, '-c', 'mine.yaml', '--force')).code).toBe(0)
  expect(readFileSync(at('mine.yaml'), 'utf8')).toContain('my-app')
})

test('--force makes a file for this user alone, and writes through no link', async () => {
  mkdirSync(at('forced'))
  writeFileSync(at('forced/open.yaml'), 'open', { mode: 0o644 })
  writeFileSync(at('forced/elsewhere'), 'mine')
  symlinkSync('elsewhere', at('forced/link.yaml'))
  for (const name of ['open', 'link']) {
    const file = `forced/${name}.yaml`
    expect(await init(...APP, ...HOOK, '-c', file, '--force')).toMatchObject({ code: 0 })
    expect(readFileSync(at(file), 'utf8')).toContain('my-app')
    expect([lstatSync(at(file)).isFile(), statSync(at(file)).mode & 0o777]).toEqual([true, 0o600])
  }
  expect(readFileSync(at('forced/elsewhere'), 'utf8')).toBe('mine')
  mkdirSync(at('forced/folder.yaml'))
  expect(await init(...APP, ...HOOK, '-c', 'forced/folder.yaml', '--force')).toMatchObject({ code: 1 })
  expect(readdirSync(at('forced')).sort()).toEqual(['elsewhere', 'folder.yaml', 'link.yaml', 'open.yaml'])
  spawnSync('mkfifo', [at('forced/pipe.yaml')])
  symlinkSync('/dev/null', at('forced/device.yaml'))
  for (const name of ['pipe', 'device', 'folder']) {
    expect(await init(...APP, ...HOOK, '-c', `forced/${name}.yaml`, '--force')).toMatchObject({
      code: 1,
      err: `plimsoll: forced/${name}.yaml is no regular file: name another one with --config\n`,
    })
  }
  expect([lstatSync(at('forced/pipe.yaml')).isFIFO(), lstatSync(at('forced/device.yaml')).isSymbolicLink()]).toEqual([
    true,
    true,
  ])
})

test('without a terminal what is missing is wrong usage that names the flags', async () => {
  expect(await init('--client-id', 'x')).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringContaining('missing: --client-secret, --public-url, --webhook (or --slack, or'),
  })
  expect((await init(...APP, '--smtp', 'smtp://localhost:25')).err).toContain('missing: --mail-to (')
  expect((await init(...APP, '--mail-to', 'a@example.com')).err).toContain('missing: --smtp')
})

test.each([
  ['--client-secret', 'a-secret'],
  ['--slack', 'https://hooks.slack.com/services/a/b/a-secret'],
  ['--smtp', 'smtps://user:a-secret@mail.example.com'],
])('a secret in the argument of %s is refused, and not repeated', async (flag, value) => {
  const { code, err } = await init(...APP, ...HOOK, flag, value)
  expect([code, err]).toEqual([2, expect.stringContaining(`give ${flag} file:PATH or env:NAME`)])
  expect(err).not.toContain('a-secret')
})

test('secrets are taken from files and variables by name', async () => {
  const args = [...APP, ...MAIL, '--slack', 'env:SLACK_URL', '--app-name', 'Example App', '-c', 'named/all.yaml']
  const env = { SLACK_URL: 'https://hooks.slack.com/services/a/b/c' }
  const { code, out } = await plimsollHere(['init', ...args], folder, { env })
  expect(code).toBe(0)
  const text = readFileSync(at('named/all.yaml'), 'utf8')
  expect(text).toContain('clientSecretFile: ../secret.txt')
  expect(text).toContain('smtpFile: ../smtp.txt')
  expect(text).toContain('url: ${SLACK_URL}')
  expect(text).toContain('name: Example App')
  expect(text).toContain('from: plimsoll@localhost')
  expect(out).toContain('redirect URL http://127.0.0.1:8088/oauth/callback')
})

test('what config check would find is said before anything is written, by its setting', async () => {
  const args = [...APP, '--webhook', 'ftp://x', '--client-secret', 'file:none.txt', '-c', 'bad/bad.yaml']
  const { code, out, err } = await init(...args)
  expect([code, out]).toEqual([1, ''])
  expect(err).toMatch(
    /^plimsoll: nothing was written:\nprovider\.clientSecretFile: .*none\.txt.*\nreceivers\.hook\.url: .*https?.*\n$/,
  )
  expect(existsSync(at('bad'))).toBe(false)
})

test('the config reads back what was given, whatever is in it', async () => {
  const args = ['--client-id', '${X} $${Y}', '--app-name', 'A "${B}" C', '-c', 'odd/odd.yaml']
  const more = ['--smtp', 'smtp://localhost:25', '--mail-to', ' ops@example.com, ,ann@example.com, ']
  expect(await init(...APP, ...args, ...more)).toMatchObject({ code: 0, err: '' })
  const { out } = await plimsollHere(['config', 'print', '--json', '-c', 'odd/odd.yaml'], folder)
  expect(JSON.parse(out)).toMatchObject({
    provider: { clientId: '${X} $${Y}' },
    http: { brand: { name: 'A "${B}" C' } },
    receivers: { ops: { to: ['ops@example.com', 'ann@example.com'] } },
  })
})

test.each([
  ['env:FOO BAR', '', 'letters, digits and _'],
  ['env:', '', 'letters, digits and _'],
  ['file:', 'File', 'path of a file'],
])('%s in place of a secret is refused, as an argument and when asked', async (secret, setting, why) => {
  const { code, err } = await init(...APP, ...HOOK, '--client-secret', secret, '-c', 'none.yaml')
  expect([code, err]).toEqual([1, expect.stringContaining(`provider.clientSecret${setting}: `)])
  expect(err).toContain(why)
  const io = { inIsTerminal: true, stdin: () => typed(secret) }
  const asked = await plimsollHere(['init', '--client-id', 'x', '-c', 'none.yaml'], folder, io)
  expect(asked.err).toMatch(new RegExp(`Not accepted: .*${why}`))
})

test('a file in place of a folder, or a folder that was removed, is one sentence', async () => {
  for (const file of ['smtp.txt/x.yaml', 'smtp.txt/folder/x.yaml'])
    expect(await init(...APP, ...HOOK, '-c', file)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^plimsoll: .*smtp\.txt.* can't be made: a file has the name of a folder.*\n$/),
    })
  const gone = await run(
    'sh',
    ['-c', `mkdir gone && cd gone && rmdir ../gone && exec '${process.execPath}' '${MAIN}' init`],
    folder,
  )
  expect(gone).toEqual({
    code: 1,
    out: '',
    err: 'plimsoll: the current folder was removed: change to another one\n',
  })
})

/** What a user types, as a terminal hands it over. */
async function* typed(...lines: string[]): AsyncGenerator<Buffer> {
  for (const line of lines) yield Buffer.from(`${line}\n`)
}

test('on a terminal it says what it will ask, hides secrets, and repeats a question that needs an answer', async () => {
  const answers = ['', 'a-${secret}', '', 'http://127.0.0.1:8088', 'Example App', '', '', '', HOOK[1] ?? '']
  const hidden: boolean[] = []
  const io = { inIsTerminal: true, stdin: () => typed(...answers), hideTyping: (is: boolean) => hidden.push(is) }
  const { code, err } = await plimsollHere(['init', '--client-id', 'my-app', '-c', 'asked.yaml'], folder, io)
  expect(code).toBe(0)
  expect(err.indexOf('It asks for')).toBeLessThan(err.indexOf('client secret of your app (hidden)'))
  expect(err).not.toContain('client ID')
  expect(err.match(/client secret.*\(hidden\)/g)).toHaveLength(2)
  // The client secret, and the last of the three receivers.
  expect(err.match(/Required\./g)).toHaveLength(2)
  expect(err.indexOf('one is enough')).toBeLessThan(
    err.indexOf('mail server, like smtps://user:password@mail.example.com:465 (hidden)'),
  )
  expect(err).not.toMatch(/mail addresses.*: /)
  // Client secret twice, mail server, Slack.
  expect(hidden.filter(Boolean)).toHaveLength(4)
  expect(hidden.at(-1)).toBe(false)
  const text = readFileSync(at('asked.yaml'), 'utf8')
  expect(text).toContain('clientSecret: a-$${secret}')
  expect(text).toContain('- oauth\n    - crm.objects.contacts.read')
})

test('on a terminal an answer that config check refuses is asked for again, with the reason and without its secret', async () => {
  const wrong = ['file:none.txt', 'plimsoll.example.com', 'mail.a-secret.example.com', 'ops', 'a-secret.example.com']
  const right = ['env:SECRET', 'https://plimsoll.example.com', 'smtp://localhost:25', 'ops@example.com', '']
  const given = ['--client-id', 'my-app', '--scopes', 'oauth tickets', '--app-name', 'X', '-c', 'again.yaml']
  const [first = [], second = [], third = [], fourth = [], last = []] = wrong.map((one, n) => [one, right[n] ?? ''])
  const answers = [...first, ...second, ...third, '', ...fourth, ...last, '']
  const io = { inIsTerminal: true, stdin: () => typed(...answers), env: { SECRET: 'x' } }
  const { code, out, err } = await plimsollHere(['init', ...given], folder, io)
  expect([code, out]).toEqual([0, expect.stringContaining('again.yaml is fine')])
  // Once in the list before the questions, then each question twice.
  for (const text of [
    'client secret',
    'address of this server',
    'mail server, like',
    'mail addresses',
    'Slack webhook',
  ]) {
    expect([text, err.split(text).length - 1]).toEqual([text, 3])
  }
  expect(err).toContain('sender of mails [plimsoll@plimsoll.example.com]: ')
  expect(err).not.toContain('a-secret')
  expect(readFileSync(at('again.yaml'), 'utf8')).toContain('- tickets')
})

test('it ends with what to do next: the key to back up, the token to sign in with, the address of installs', async () => {
  const args = ['--client-id', 'my-app', '--client-secret', 'file:secret.txt', '--public-url', 'https://p.example.com']
  const { out } = await init(...args, ...HOOK, '-c', 'next/steps.yaml')
  expect(out).toContain('back up next/.plimsoll/keys')
  expect(out).toContain('Sign in at https://p.example.com with the token in next/.plimsoll/admin-token')
  expect(out).toContain('https://p.example.com/install')
  expect(out).toContain('put a proxy with TLS in front of the daemon')
})

test('Ctrl-D at a question ends it, with nothing written', async () => {
  const io = { inIsTerminal: true, stdin: () => typed('x') }
  const { code, err } = await plimsollHere(['init', '-c', 'none.yaml'], folder, io)
  expect([code, err]).toEqual([1, expect.stringMatching(/\nplimsoll: stopped, nothing was written\n$/)])
  expect(existsSync(at('none.yaml'))).toBe(false)
})

test('Ctrl-C at a question ends it, with nothing written', async () => {
  const stop = new AbortController()
  async function* silent(): AsyncGenerator<Buffer> {
    stop.abort()
    yield await new Promise<Buffer>(() => {})
  }
  const io = { inIsTerminal: true, stop: stop.signal, stdin: silent }
  const { code, err } = await plimsollHere(['init', '-c', 'stopped.yaml'], folder, io)
  expect([code, err]).toEqual([1, expect.stringMatching(/\nplimsoll: stopped, nothing was written\n$/)])
  expect(existsSync(at('stopped.yaml'))).toBe(false)
})
