import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { examplesIn, type HelpText, helpTexts, plimsollHere, type Ran, withoutNotes } from '../support/command.ts'
import { connectAccount, customProperties, eventually, refreshTokenFor, send } from '../support/fleet.ts'
import { MAIN } from '../support/main.ts'
import { openScene, type Scene } from '../support/scene.ts'

/** Every example of every `--help`, typed as it stands there in a folder with an installation. */
const HUB = 1234567
const [BEFORE, IMPORTED] = [1234568, 1234569]

/** What takes half a minute, or needs another daemon or account, is run once, by the test that is about it. */
const RUN_ELSEWHERE: Record<string, string> = {
  'plimsoll demo --for 30s': 'demo.test.ts',
  'plimsoll start --config config/plimsoll.yaml --roles worker': 'start.test.ts',
  'plimsoll accounts reconnect-link acme.example.com --send': 'command-line.test.ts',
}

/** What differs from installation to installation: as examples show it, and as it is here. */
const here = new Map([
  ['--port 8090', '--port 0 --smtp-port 0'],
  ['acme.example.com', `n${HUB}.example.com`],
])
const ALERT = '1f0c9a7be2d45a63'
const SILENCE = 's-4k7mp'

/** These run until they are told to stop; what they say when they are at work. */
const RUN_ON: Record<string, RegExp> = { start: /"daemon\.started"/, sandbox: /^requests /m }

let scene: Scene
let commands: HelpText[]
const running: ChildProcess[] = []

beforeAll(async () => {
  scene = await openScene({ accounts: 0, tokenLifetimeMs: 600_000, rotateRefreshTokens: false })
  for (const hubId of [HUB, BEFORE, IMPORTED]) {
    await send(`${scene.sandbox.url}/sandbox/accounts`, 'POST', { hubId, hubDomain: `n${hubId}.example.com` })
  }
  await use(500)
  const at = (name: string) => join(scene.folder, name)
  mkdirSync(at('config'))
  copyFileSync(await scene.configFile(), at('config/plimsoll.yaml'))
  copyFileSync(at('config/plimsoll.yaml'), at('new.yaml'))
  writeFileSync(at('secret.txt'), 'a-client-secret')
  writeFileSync(at('token.txt'), await refreshTokenFor(scene.sandbox.url, BEFORE))
  writeFileSync(
    at('fleet.csv'),
    `hubId,refreshToken\n${IMPORTED},${await refreshTokenFor(scene.sandbox.url, IMPORTED)}\n`,
  )
  commands = await helpTexts()
})
afterAll(async () => {
  for (const child of running) child.kill('SIGKILL')
  await scene.close()
})

const use = (usage: number) =>
  send(`${scene.sandbox.url}/sandbox/accounts/${HUB}/custom-properties`, 'PUT', customProperties(usage))

/** What must have happened before an example can work. */
const FIRST: Record<string, () => Promise<unknown>> = {
  // What was imported: an export leaves a file that is there alone.
  'accounts export': async () => rmSync(join(scene.folder, 'fleet.csv'), { force: true }),
  check: () => eventually('a reading within thresholds', async () => (await type('plimsoll check')).code === 0),
  doctor: () => eventually('a daemon at work', async () => (await type('plimsoll doctor')).code === 0),
  'alerts ack': async () => {
    await use(900)
    const [alert] = await eventually('an open alert', async () => {
      const open = JSON.parse((await type('plimsoll alerts list --json')).out) as { id: string }[]
      return open.length > 0 && open
    })
    here.set(ALERT, alert?.id ?? '')
  },
}

/** What an example leads to that a later one needs. */
const THEN: Record<string, (ran: Ran) => unknown> = {
  start: ({ out }) => connectAccount(/"url":"([^"]+)"/.exec(out)?.[1] ?? '', HUB),
  'alerts silence': ({ out }) => here.set(SILENCE, /^silence (\S+):/.exec(out)?.[1] ?? ''),
}

test('every example in every --help works as it stands there', async () => {
  const left = (path: string) => Number(path === 'accounts uninstall') // The others need the account.
  const all = commands
    .map((help) => ({ path: help.path.join(' '), examples: examplesIn(help) }))
    .toSorted((a, b) => left(a.path) - left(b.path))
  let count = 0
  for (const { path, examples } of all) {
    for (const example of examples.filter((one) => RUN_ELSEWHERE[one] === undefined)) {
      await FIRST[path]?.()
      const ran = RUN_ON[path] === undefined ? await type(example) : await typeAndLeave(example, RUN_ON[path])
      expect({ example, ...ran, err: withoutNotes(ran.err) }).toMatchObject({ code: 0, err: '' })
      await THEN[path]?.(ran)
      count++
    }
  }
  expect(count).toBeGreaterThan(30)
  expect([...here.values()].filter((value) => value === '')).toEqual([])
  expect([ALERT, SILENCE].filter((id) => !here.has(id))).toEqual([])
})

test('what runs until it is told to stop ends with exit code 0 then', async () => {
  expect(running).toHaveLength(Object.keys(RUN_ON).length)
  for (const child of running) {
    child.kill('SIGINT')
    expect(await once(child, 'exit')).toEqual([0, null])
  }
})

test('what is run elsewhere still is an example, and the test exists', () => {
  const examples = commands.flatMap(examplesIn)
  for (const [example, file] of Object.entries(RUN_ELSEWHERE)) {
    expect(examples).toContain(example)
    expect(existsSync(join(import.meta.dirname, file))).toBe(true)
  }
})

/** The words of a command line: `"quoted"` is one. */
function wordsOf(example: string): { words: string[]; into?: string } {
  let line = example
  for (const [shown, real] of here) line = line.replace(shown, real)
  const [command = '', into] = line.split(' > ')
  const words = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
  return { words: words.slice(1), ...(into === undefined ? {} : { into }) }
}

async function type(example: string): Promise<Ran> {
  const { words, into } = wordsOf(example)
  const ran = await plimsollHere(words, scene.folder)
  if (into === undefined) return ran
  expect(ran.out, example).not.toBe('')
  writeFileSync(join(scene.folder, into), ran.out)
  return words[0] === 'accounts' ? { ...ran, err: '' } : ran
}

async function typeAndLeave(example: string, atWork: RegExp): Promise<Ran> {
  const child = spawn(process.execPath, [MAIN, ...wordsOf(example).words], { cwd: scene.folder })
  running.push(child)
  const ran = { out: '', err: '' }
  child.stdout.on('data', (data) => (ran.out += data))
  child.stderr.on('data', (data) => (ran.err += data))
  await eventually(`${example} at work`, async () => atWork.test(ran.out) || child.exitCode !== null)
  return { ...ran, code: child.exitCode ?? 0 }
}
