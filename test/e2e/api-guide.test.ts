import { copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { run } from '../support/command.ts'
import { connectAccount, eventually, getJson, send } from '../support/fleet.ts'
import { MAIN } from '../support/main.ts'
import { openScene, type Scene } from '../support/scene.ts'

const ROOT = new URL('../../', import.meta.url).pathname
const GUIDE = readFileSync(join(ROOT, 'config/guide/api.md'), 'utf8')

let scene: Scene
let script: string

beforeAll(async () => {
  scene = await openScene({ accounts: 0, tokenLifetimeMs: 60_000 })
  await send(`${scene.sandbox.url}/sandbox/accounts`, 'POST', { hubId: 1234567, hubDomain: 'acme.example.com' })
  const hook = { type: 'webhook', url: `${scene.sandbox.url}/sandbox/hooks`, format: 'slack' }
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
  const [status, list, problem, done, told, token, history, schemas] = out.split('\n=====\n').map((part) => part.trim())
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
  expect(schemas).toContain('"title":"plimsoll accounts list --json"')
  expect(schemas).toContain('"openapi":"3.1.1"')
})
