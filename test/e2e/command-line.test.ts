import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { plimsoll, plimsollHere, run } from '../support/command.ts'
import {
  connectAccount,
  connectAll,
  eventually,
  getJson,
  hubIdsOf,
  journalOf,
  mailsOf,
  refreshTokenFor,
  send,
} from '../support/fleet.ts'
import { MAIN } from '../support/main.ts'
import { openScene, type Scene, sceneFor } from '../support/scene.ts'

let scene: Scene
let config: string
let url: string
let hubIds: number[]

beforeAll(async () => {
  scene = await openScene({ accounts: 4 })
  const daemon = await scene.daemon()
  url = daemon.url
  config = await scene.configFile()
  hubIds = await hubIdsOf(scene.sandbox.url)
  await connectAll(url, hubIds.slice(0, 3))
  // Their domains are asked for after they were connected.
  await eventually('their domains', async () => {
    const { out } = await command('accounts', 'list', '--json')
    return JSON.parse(out).every(({ hubDomain }: { hubDomain: string }) => hubDomain !== '')
  })
})
afterAll(() => scene.close())

/** Within this process: what a process of its own adds, the first tests show, and those of what ends a program. */
const command = (...args: string[]) => plimsollHere([...args, '--config', config], scene.folder)

test('accounts list --json is one line: an array of accounts with at least hubId, hubDomain and state', async () => {
  const { code, out } = await plimsoll(['accounts', 'list', '--json', '--config', config], scene.folder)
  expect(code).toBe(0)
  expect(out.trim().split('\n')).toHaveLength(1)
  const accounts = JSON.parse(out) as unknown[]
  expect(accounts).toHaveLength(3)
  expect(accounts[0]).toMatchObject({ hubId: hubIds[0], hubDomain: expect.stringMatching(/\./), state: 'active' })
})

test('a command does without the library that sends mails', async () => {
  const tell = 'load(url, context, next) { if (/nodemailer/.test(url)) console.error(url); return next(url, context) }'
  const hook = `data:text/javascript,import { registerHooks } from 'node:module'; registerHooks({ ${tell} })`
  const { err } = await run(process.execPath, ['--import', hook, MAIN, 'check', '--config', config], scene.folder)
  expect(err).not.toContain('nodemailer')
})

test('an account is named by its domain too; one that no account has is an error with the nearest', async () => {
  const [{ hubId, hubDomain }] = JSON.parse((await command('accounts', 'list', '--json')).out)
  expect(JSON.parse((await command('accounts', 'show', hubDomain.toUpperCase(), '--json')).out)).toMatchObject({
    hubId,
  })
  expect(await command('accounts', 'poll', `x${hubDomain}`)).toMatchObject({
    code: 1,
    out: '',
    err: `plimsoll: there is no account x${hubDomain}: did you mean ${hubDomain}?\n`,
  })
})

test('accounts reconnect-link prints a link that connects this account and no other', async () => {
  const [one, , , other] = hubIds as [number, number, number, number]
  const { code, out } = await command('accounts', 'reconnect-link', String(one))
  expect({ code, lines: out.trim().split('\n').length }).toEqual({ code: 0, lines: 1 })
  const { pathname, search } = new URL(out)
  const choose = (hubId: number) => connectAccount(url, hubId, `${pathname}${search}`)
  expect((await choose(one)).status).toBe(200)
  const refused = await choose(other)
  expect([refused.status, await refused.text()]).toEqual([409, expect.stringContaining('You picked the wrong account')])
  expect(await command('accounts', 'show', String(other))).toMatchObject({ code: 1 })
  expect(await command('accounts', 'reconnect-link', '42')).toMatchObject({ code: 1, out: '' })
})

test('accounts reconnect-link --send mails the link to the customer of an account that must reconnect', async (context) => {
  const { sandbox, redis: _, ...own } = await sceneFor(context, { accounts: 1 })
  const customers = { type: 'email', smtp: sandbox.smtpUrl, from: 'Example App <app@example.com>', to: 'account' }
  const settings = { receivers: { customers }, http: { brand: { name: 'Example App' } } }
  const daemon = await own.daemon(settings)
  const [hubId = 0] = await hubIdsOf(sandbox.url)
  await connectAll(daemon.url, [hubId])
  const account = () => getJson<{ state: string; user: string | null }>(`${daemon.url}/api/v1/accounts/${hubId}`)
  const user = await eventually('who installed the app', async () => (await account()).user ?? undefined)
  await send(`${sandbox.url}/sandbox/accounts/${hubId}`, 'DELETE')
  await eventually('a refused refresh token', async () => (await account()).state === 'reauthorize')
  const file = daemon.child.spawnargs.at(-1) as string
  const args = ['accounts', 'reconnect-link', String(hubId), '--send', '--config', file]
  const { code, out } = await plimsollHere(args, own.folder)
  expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining(`on its way to ${user}`) })
  const mail = await eventually('the mail', async () =>
    (await mailsOf(sandbox.url)).find(({ raw }) => raw.includes(user)),
  )
  expect(mail.text).toContain(`${daemon.url}/`)
})

test('accounts connect takes over an account by its refresh token and the daemon keeps it from then on', async () => {
  const hubId = hubIds[3] as number
  const file = join(scene.folder, 'token.txt')
  writeFileSync(file, `${await refreshTokenFor(scene.sandbox.url, hubId)}\n`)
  const { code, out } = await command('accounts', 'connect', '--refresh-token-file', file)
  expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining(`connected account ${hubId}`) })
  await eventually('a poll', async () => {
    const entries = await journalOf(scene.sandbox.url)
    return entries.some((entry) => entry.hubId === hubId && entry.endpoint === 'customProperties')
  })
})

test('accounts connect says what is wrong with a token that the provider refuses, and changes nothing', async () => {
  const file = join(scene.folder, 'bad-token.txt')
  writeFileSync(file, 'not-a-refresh-token-at-all-0000')
  const { code, err } = await command('accounts', 'connect', '--refresh-token-file', file)
  expect(code).toBe(1)
  expect(err).toMatch(/the provider did not take the refresh token/)
  expect(err).not.toContain('not-a-refresh-token')
  expect(readFileSync(file, 'utf8')).toBe('not-a-refresh-token-at-all-0000')
})

test('accounts uninstall hands the account to the daemon, which deletes its refresh token', async () => {
  const hubId = hubIds[1] as number
  expect((await command('accounts', 'uninstall', String(hubId))).code).toBe(0)
  await eventually('the tombstone', async () => {
    const { state } = await getJson<{ state: string }>(`${url}/api/v1/accounts/${hubId}`)
    return state === 'uninstalled'
  })
  expect((await command('accounts', 'uninstall', String(hubId))).out).toContain('uninstalled already')
})

test('accounts uninstall --wait comes back with the proof, and the story tells all of it', async () => {
  const hubId = String(hubIds[2])
  const why = ['--reason', 'the customer left']
  const waited = await command('accounts', 'uninstall', hubId, '--wait', ...why)
  expect(waited).toMatchObject({ code: 0, err: '' })
  expect(waited.out).toMatch(
    new RegExp(`^the refresh token of account ${hubId} was deleted 20.* UTC: HubSpot confirmed it\n`),
  )
  const again = await command('accounts', 'uninstall', hubId, '--wait', '--json')
  expect(JSON.parse(again.out)).toMatchObject({ hubId: Number(hubId), outcome: 'deleted' })

  const { out } = await command('accounts', 'show', hubId)
  const [, story = ''] = out.split(/^WHEN .*\n/m)
  expect(story.split('\n').map((line) => line.slice(22))).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^connected/),
      expect.stringMatching(/^uninstall requested +the customer left \(by command line\)/),
      expect.stringMatching(/^refresh token deleted +HubSpot confirmed it/),
      expect.stringMatching(/^record deleted +planned/),
    ]),
  )
  const { story: told } = JSON.parse((await command('accounts', 'show', hubId, '--json')).out)
  expect(told).toEqual((await getJson<{ story: unknown }>(`${url}/api/v1/accounts/${hubId}`)).story)
  expect(told.map(({ event }: { event: string }) => event).slice(-2)).toEqual([
    'refresh token deleted',
    'record deleted',
  ])
})

test('wrong usage exits with 2 and says how it goes', async () => {
  const onlyTheDaemonKnows = ['audit', 'list', '--since', 'once', '-c', config]
  for (const args of [['acounts'], onlyTheDaemonKnows, ['accounts', 'connect'], ['start', '--confg', 'x']]) {
    const { code, err } = await plimsollHere(args, scene.folder)
    expect(code, args.join(' ')).toBe(2)
    expect(err).not.toBe('')
  }
  expect((await plimsoll(['acounts'], scene.folder)).err).toBe(
    "plimsoll: unknown command 'acounts': did you mean accounts? (plimsoll --help shows more)\n",
  )
})

test('config check names every problem at once and exits with 1; a good file exits with 0', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-check-'))
  const file = join(folder, 'bad.yaml')
  writeFileSync(file, 'provider: { clientId: a, clientSecret: "${NOT_SET}" }\ntreshold: 3\n')
  const { code, out, err } = await plimsoll(['config', 'check', file], folder)
  expect(code).toBe(1)
  expect(out).toContain('provider.clientSecret: the environment variable NOT_SET is not set')
  expect(out).toContain('treshold: unknown')
  expect(err).toMatch(/has \d+ problems/)
  expect((await command('config', 'check')).code).toBe(0)
  rmSync(folder, { recursive: true })
})

test('the daemon refuses a bad config with all problems, before it touches anything', async () => {
  const { code, err } = await plimsoll(['start', '--config', join(scene.folder, 'nowhere.yaml')], scene.folder)
  expect(code).toBe(1)
  expect(err).toContain('nowhere.yaml')
})

test('another key under the same id is refused with what to check, and no token is touched', async () => {
  const other = await scene.configFile({
    dataDir: join(scene.folder, 'other'),
    encryption: { keys: [{ id: 'k1', key: Buffer.alloc(32, 9).toString('base64') }] },
  })
  const { code, err } = await plimsollHere(['accounts', 'list', '--config', other], scene.folder)
  expect(code).toBe(1)
  expect(err).toContain('check encryption.keys')
  const started = await plimsoll(['start', '--config', other], scene.folder)
  expect(started.code).toBe(1)
  expect(started.err).toContain("doesn't open what is stored")
})

test('without Redis a command fails soon and says so', async () => {
  const away = await scene.configFile({
    dataDir: join(scene.folder, 'away'),
    redis: { url: 'redis://127.0.0.1:1' },
  })
  const { code, err } = await plimsoll(['accounts', 'list', '--config', away], scene.folder)
  expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining('Redis does not answer') })
})
