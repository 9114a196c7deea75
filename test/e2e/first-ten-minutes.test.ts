import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Ran, run } from '../support/command.ts'
import { blocksOf, readDocuments } from '../support/documents.ts'
import { eventually, freePort, mailsOf } from '../support/fleet.ts'
import { MAIN } from '../support/main.ts'

/**
 * "First ten minutes" of the README, pasted block by block into a shell. What differs: the ports, which may be taken here, and
 * who starts the programs, which `npm` does elsewhere (npm-start.test.ts).
 */
const STEPS = readDocuments()
  .filter(({ path }) => path === 'README.md')
  .flatMap(blocksOf)
  .filter(({ kind, heading }) => kind === 'sh' && heading === 'First ten minutes')
  .map(({ text }) => text)

const PLIMSOLL = `"${process.execPath}" "${MAIN}"`

let folder: string
let ports: { provider: number; mail: number; daemon: number }
let sandboxUrl: string
const leftRunning: ChildProcess[] = []

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'plimsoll-ten-minutes-'))
  mkdirSync(join(folder, 'config'))
  ports = { provider: await freePort(), mail: await freePort(), daemon: await freePort() }
  sandboxUrl = `http://127.0.0.1:${ports.provider}`
})

afterAll(async () => {
  for (const child of leftRunning.reverse()) {
    const ended = child.exitCode === null ? once(child, 'exit') : undefined
    child.kill('SIGTERM')
    await ended
  }
  rmSync(folder, { recursive: true, force: true })
})

function onThisMachine(step: string): string {
  return step
    .replaceAll(/^npm start|^plimsoll/gm, (command) => (command === 'plimsoll' ? PLIMSOLL : `${PLIMSOLL} start`))
    .replace(/ sandbox .*/, (command) => `${command.trimEnd()} --port ${ports.provider} --smtp-port ${ports.mail}`)
    .replace(/^( *)publicUrl: .*/m, (line, indent) => `${line}\n${indent}listen: 127.0.0.1:${ports.daemon}`)
    .replaceAll('127.0.0.1:8090', `127.0.0.1:${ports.provider}`)
    .replaceAll('127.0.0.1:2525', `127.0.0.1:${ports.mail}`)
    .replaceAll('127.0.0.1:8088', `127.0.0.1:${ports.daemon}`)
}

function leaveRunning(step: string | undefined): ChildProcess {
  const child = spawn('sh', ['-c', `exec ${onThisMachine(step ?? '').trim()}`], { cwd: folder, stdio: 'ignore' })
  leftRunning.push(child)
  return child
}

const paste = (step: string | undefined): Promise<Ran> => run('sh', ['-ec', onThisMachine(step ?? '')], folder)

test('from nothing to a connected account and mails about it, by the commands of the README alone', async () => {
  const [alias, sandbox, config, start, testMail, connect, look, ...more] = STEPS
  expect(alias).toBe('alias plimsoll="npm run -s plimsoll --"\n')
  expect(more).toEqual([])

  leaveRunning(sandbox)
  await eventually('the sandbox', () => answers(`${sandboxUrl}/sandbox/requests`))
  expect(await paste(config)).toMatchObject({ code: 0, out: expect.stringContaining('config/plimsoll.yaml is fine') })

  leaveRunning(start)
  await eventually('the daemon', () => answers(`http://127.0.0.1:${ports.daemon}/readyz`))
  expect(existsSync(join(folder, 'config', '.plimsoll', 'keys', 'k1'))).toBe(true)

  expect(await paste(testMail)).toMatchObject({ code: 0, err: '' })
  expect((await mailsOf(sandboxUrl)).map(({ subject }) => subject)).toEqual([expect.stringContaining('[TEST]')])

  expect((await paste(connect)).out).toContain('is connected')
  await eventually('a mail about its limits', async () =>
    (await mailsOf(sandboxUrl)).find(({ subject }) => /^\[(DIGEST|WARNING|CRITICAL)\]/.test(subject)),
  )
  const looked = await paste(look)
  expect(looked).toMatchObject({ code: 0, err: '', out: expect.stringContaining('acme-01.example.com') })

  const [token = ''] = /^plm_\S+$/m.exec(looked.out) ?? []
  const url = `http://127.0.0.1:${ports.daemon}`
  expect((await fetch(url)).status).toBe(401)
  const signedIn = await fetch(`${url}/sign-in`, {
    method: 'POST',
    body: new URLSearchParams({ token }),
    redirect: 'manual',
  })
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? ''
  expect(await (await fetch(url, { headers: { cookie } })).text()).toContain('acme-01.example.com')
})

async function answers(url: string): Promise<true | undefined> {
  const response = await fetch(url).catch(() => undefined)
  return response?.ok === true ? true : undefined
}
