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
import { plimsollHere } from '../support/command.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'plimsoll-init-'))
  writeFileSync(join(folder, 'secret.txt'), 'a-client-secret\n')
  writeFileSync(join(folder, 'smtp.txt'), 'smtps://user:pass@mail.example.com:465\n')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const APP = ['--client-id', 'my-app', '--client-secret-file', 'secret.txt', '--public-url', 'http://127.0.0.1:8088']
const MAIL = ['--smtp-file', 'smtp.txt', '--mail-to', 'ops@example.com,ann@example.com']
const HOOK = ['--webhook', 'https://hooks.example.com/plimsoll']
const init = (...args: string[]) => plimsollHere(['init', ...args], folder)
const at = (name: string) => join(folder, name)

test.each([
  ['mail', MAIL, 'mail: { type: email'],
  ['webhook', HOOK, 'hook: { type: webhook'],
  ['both', [...MAIL, ...HOOK], '{ to: [mail, hook] }'],
])(
  'with flags for %s it writes a short config that config check accepts, for this user alone',
  async (name, flags, line) => {
    const file = `sub/${name}.yaml`
    const { code, out, err } = await init(...APP, ...flags, '-c', file)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toContain(`wrote ${file}`)
    const text = readFileSync(at(file), 'utf8')
    expect(text).toContain(line)
    expect(text).toContain('listen: "127.0.0.1:8088"')
    expect(text.trim().split('\n').length).toBeLessThan(17)
    expect(statSync(at(file)).mode & 0o777).toBe(0o600)
    expect(await plimsollHere(['config', 'check', file], folder)).toMatchObject({ code: 0 })
  },
)

test('a file that is there stays as it is, unless --force is given', async () => {
  writeFileSync(at('mine.yaml'), 'mine')
  expect(await init(...APP, ...HOOK, '-c', 'mine.yaml')).toMatchObject({
    code: 1,
    err: 'plimsoll: mine.yaml is there already: --force overwrites it\n',
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
})

test('without a terminal what is missing is wrong usage that names the flags', async () => {
  expect(await init('--client-id', 'x')).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringContaining('missing: --client-secret-file, --public-url, --smtp with --mail-to, or --webhook ('),
  })
  expect((await init(...APP, '--smtp', 'smtp://localhost:25')).err).toContain('missing: --mail-to (')
  expect((await init(...APP, '--mail-to', 'a@example.com')).err).toContain('missing: --smtp (')
})

test('a password is taken from a file or a question, not from an argument', async () => {
  const { code, err } = await init(...APP, '--smtp', 'smtps://user:pass@mail.example.com', '--mail-to', 'a@example.com')
  expect([code, err]).toEqual([2, expect.stringContaining('give --smtp-file FILE')])
  expect(err).not.toContain('user:pass')
  expect((await init(...APP, ...MAIL, '-c', 'of-file.yaml')).code).toBe(0)
  expect(readFileSync(at('of-file.yaml'), 'utf8')).toContain('smtpFile: "smtp.txt"')
})

test('a config that would not work is not written, with all its problems', async () => {
  const { code, err } = await init(...APP, '--webhook', 'ftp://x', '--client-secret-file', 'none.txt', '-c', 'bad.yaml')
  expect(code).toBe(1)
  expect(err).toContain('bad.yaml was not written')
  expect(err).toContain('none.txt')
  expect(err).toContain('receivers.hook.url')
  expect(() => statSync(at('bad.yaml'))).toThrow()
})

/** What a user types, as a terminal hands it over. */
async function* typed(...lines: string[]): AsyncGenerator<Buffer> {
  for (const line of lines) yield Buffer.from(`${line}\n`)
}

test('on a terminal it asks for what is not given, and takes an empty line for no', async () => {
  const stdin = () => typed('secret.txt', 'http://127.0.0.1:8088', '', 'https://hooks.example.com/plimsoll')
  const args = ['init', '--client-id', 'my-app', '-c', 'asked.yaml']
  const { code, out } = await plimsollHere(args, folder, { isTerminal: true, stdin })
  expect(code).toBe(0)
  expect(out).not.toContain('client id')
  expect(out).not.toContain('Who gets the alerts')
  expect(readFileSync(at('asked.yaml'), 'utf8')).toContain('clientSecretFile: "secret.txt"')
  const ended = await plimsollHere(['init', '-c', 'none.yaml'], folder, { isTerminal: true, stdin: () => typed('x') })
  expect(ended).toMatchObject({ code: 2, err: expect.stringContaining('--client-secret-file') })
})

test('answers on a terminal are judged by the checks of the config, all at once, and nothing is written', async () => {
  const answers = ['my-app', 'none.txt', 'nowhere', '', HOOK[1] ?? '']
  const args = ['init', '-c', 'wrong.yaml']
  const { code, err } = await plimsollHere(args, folder, { isTerminal: true, stdin: () => typed(...answers) })
  expect(code).toBe(1)
  for (const place of ['provider.clientSecretFile', 'http.publicUrl']) expect(err).toContain(place)
  expect(existsSync(at('wrong.yaml'))).toBe(false)
})

test('Ctrl-C at a question ends it, with nothing written', async () => {
  const stop = new AbortController()
  async function* silent(): AsyncGenerator<Buffer> {
    stop.abort()
    yield await new Promise<Buffer>(() => {})
  }
  const io = { isTerminal: true, stop: stop.signal, stdin: silent }
  const { code, err } = await plimsollHere(['init', '-c', 'stopped.yaml'], folder, io)
  expect({ code, err }).toEqual({ code: 1, err: 'plimsoll: stopped, nothing was written\n' })
  expect(() => statSync(at('stopped.yaml'))).toThrow()
})
