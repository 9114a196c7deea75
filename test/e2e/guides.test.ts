import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Ran, run } from '../support/command.ts'
import { blocksOf, readDocuments } from '../support/documents.ts'
import { connectAccount, eventually, freePort, getJson, mailsOf, send } from '../support/fleet.ts'
import { MAIN } from '../support/main.ts'
import { openScene, type Scene } from '../support/scene.ts'

describe('the first ten minutes of the README', () => {
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
})

describe('the guide of the API', () => {
  const ROOT = new URL('../../', import.meta.url).pathname
  const GUIDE = readFileSync(join(ROOT, 'config/guide/api.md'), 'utf8')

  let scene: Scene
  let script: string

  beforeAll(async () => {
    scene = await openScene({ accounts: 0, tokenLifetimeMs: 60_000 })
    await send(`${scene.sandbox.url}/sandbox/accounts`, 'POST', { hubId: 1234567, hubDomain: 'acme.example.com' })
    const hook = { type: 'slack', url: `${scene.sandbox.url}/sandbox/hooks` }
    const settings = { receivers: { ops: hook }, routes: [{ to: ['ops'] }] as object, limits: { every: '15m' } }
    const { url } = await scene.daemon(settings)
    const config = await scene.configFile(settings)
    mkdirSync(join(scene.folder, 'config'))
    copyFileSync(config, join(scene.folder, 'config', 'plimsoll.yaml'))
    await connectAccount(url, 1234567)
    await eventually('the first poll', async () => {
      const { polledAt } = await getJson<{ polledAt: string | null }>(`${url}/api/v1/accounts/1234567`)
      return polledAt !== null
    })
    script = blocks('sh')
      .map((block) => block.replaceAll('http://127.0.0.1:8088', url))
      .map((block) => block.replaceAll(/(?<=^|\$\()plimsoll /gm, `"${process.execPath}" ${MAIN} `))
      .join('\necho; echo =====\n')
  })
  afterAll(() => scene.close())

  function blocks(kind: string): string[] {
    return [...GUIDE.matchAll(new RegExp(`^\`\`\`${kind}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(([, text = '']) => text)
  }

  test('every command of the guide works, one after the other, and answers what the guide says', async () => {
    const { code, out, err } = await run('bash', ['-euo', 'pipefail', '-c', script], scene.folder)
    expect({ code, err }, out).toEqual({ code: 0, err: expect.any(String) })
    const [help, status, list, problem, done, told, token, history, schemas] = out
      .split('\n=====\n')
      .map((part) => part.trim())
    expect(help).toContain('Usage: plimsoll accounts history')
    expect(JSON.parse(status ?? '')).toMatchObject({ accounts: { total: 1 } })
    expect(list).toBe('1234567 active')
    expect(JSON.parse(problem ?? '')).toEqual(JSON.parse(blocks('json')[0] ?? ''))
    for (const outcome of ['"outcome":"read"', '"outcome":"refreshed"', '"comment":"a migration"', '"replayed":0']) {
      expect(done).toContain(outcome)
    }
    expect(done).toMatch(/"receiver":"ops","outcome":"delivered"/)
    expect(told).toMatch(/^\{"hubId":1234567,.*"standing":\[\].*\{"items":\[\]\}$/s)
    expect(JSON.parse(token ?? '')).toMatchObject({ accessToken: expect.any(String), expiresIn: expect.any(Number) })
    expect(history).toBe('')
    expect(readFileSync(join(scene.folder, 'history.csv'), 'utf8')).toMatch(/^hubId,at,metric,.*\n1234567,/)
    expect(schemas).toContain('"openapi":"3.1.1"')
  })
})
