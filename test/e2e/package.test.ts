import {
  cpSync,
  existsSync,
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
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'
import { run } from '../support/command.ts'
import { proseOf, readDocuments } from '../support/documents.ts'
import { MAIN } from '../support/main.ts'

const ROOT = new URL('../../', import.meta.url).pathname
const FOLDERS = ['src', 'jobs', 'config']

test('what was made of the sources runs', async () => {
  const version = await run(process.execPath, [MAIN, '--version'], ROOT)
  expect(version).toMatchObject({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) })
})

test('a build is skipped until a source has changed; a clean one leaves nothing of older sources', async () => {
  const copy = mkdtempSync(join(tmpdir(), 'plimsoll-build-'))
  const build = (...more: string[]) => run(process.execPath, [join(copy, 'config/setup/build.mjs'), ...more], copy)
  const version = async () => (await run(process.execPath, [join(copy, 'dist/src/main.js'), '--version'], copy)).out
  const stamped = () => statSync(join(copy, 'dist/.stamp')).mtimeMs
  const done = { code: 0, out: '', err: '' }
  try {
    for (const path of [...FOLDERS, 'package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json'])
      cpSync(join(ROOT, path), join(copy, path), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
    expect(await build()).toEqual(done)
    const first = stamped()

    // An operator's config and data: secrets, and changes all the time.
    mkdirSync(join(copy, 'config/.plimsoll'))
    writeFileSync(join(copy, 'config/.plimsoll/admin-token'), 'secret')
    writeFileSync(join(copy, 'config/plimsoll.yaml'), 'provider: { clientSecret: secret }')
    expect(await build()).toEqual(done)
    expect(stamped()).toBe(first)

    const manifest = join(copy, 'package.json')
    writeFileSync(manifest, readFileSync(manifest, 'utf8').replace(/"version": "[\d.]+"/, '"version": "77.0.0"'))
    writeFileSync(join(copy, 'src/redis/lua/due.lua'), '-- changed')
    expect(await build()).toEqual(done)
    expect(await version()).toBe('77.0.0\n')
    expect(readFileSync(join(copy, 'dist/src/redis/lua/due.lua'), 'utf8')).toBe('-- changed')

    rmSync(join(copy, 'src/sandbox'), { recursive: true })
    expect(await build('--clean')).toEqual(done)
    expect(existsSync(join(copy, 'dist/src/sandbox'))).toBe(false)
    const inDist = readdirSync(join(copy, 'dist/config'), { recursive: true, encoding: 'utf8' })
    expect(inDist.filter((path) => /\.yaml$|\.plimsoll/.test(path))).toEqual(['demo.yaml'])
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
})

test('a source that is no TypeScript fails the build, which names the place', async () => {
  const copy = mkdtempSync(join(tmpdir(), 'plimsoll-build-'))
  try {
    for (const path of ['config', 'package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json'])
      cpSync(join(ROOT, path), join(copy, path), { recursive: true })
    for (const folder of ['src', 'jobs']) mkdirSync(join(copy, folder))
    writeFileSync(join(copy, 'src/main.ts'), 'const = 1')
    symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
    const build = () => run(process.execPath, [join(copy, 'config/setup/build.mjs')], copy)
    expect(await build()).toMatchObject({ code: 1, out: expect.stringContaining('src/main.ts(1,7)') })
    // Not taken for done the next time.
    expect(await build()).toMatchObject({ code: 1 })
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
})

test('the package brings the documents for whoever runs it', async () => {
  const packed = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts', '--loglevel=error'], ROOT)
  const [{ files }] = JSON.parse(packed.out) as [{ files: { path: string }[] }]
  const paths = files.map(({ path }) => path)
  const wanted = readDocuments()
    .map(({ path }) => path)
    .filter(
      (path) => !/^(config|jobs|src|test)\/(.*\/)?README\.md$/.test(path) || /^config\/(guide|deploy)\//.test(path),
    )
  expect(wanted).toContain('config/guide/runbook.md')
  expect([...wanted, 'config/example.yaml', 'LICENSE'].filter((path) => !paths.includes(path))).toEqual([])
  expect(brokenLinks(paths)).toEqual([])
  expect(paths.filter((path) => /^(test|src|jobs|dist\/\.)\//.test(path))).toEqual([])
})

/** Links of the documents in the package that lead to nothing in it. */
function brokenLinks(paths: readonly string[]): string[] {
  return readDocuments()
    .filter(({ path }) => paths.includes(path))
    .flatMap((document) =>
      [...proseOf(document).matchAll(/\]\(([^)\s#]+)/g)]
        .map(([, link = '']) => link)
        .filter((link) => !/^[a-z]+:/.test(link))
        .map((link) => normalize(join(dirname(document.path), link)).replace(/\/$/, ''))
        .filter((to) => !paths.some((path) => path === to || path.startsWith(`${to}/`)))
        .map((to) => `${document.path}: ${to}`),
    )
}

test('a command that asks a daemon loads no package that only daemons need', async () => {
  const script = [
    "import { registerHooks } from 'node:module'",
    'const load = (url, context, next) => (console.error(url), next(url, context))',
    'registerHooks({ load })',
  ].join(';')
  const hook = `data:text/javascript,${encodeURIComponent(script)}`
  const nowhere = ['--url', 'http://127.0.0.1:1', '--token', 'x']
  const { err } = await run(process.execPath, ['--import', hook, MAIN, 'status', ...nowhere], ROOT)
  const loaded = new Set([...err.matchAll(/^file:.*\/node_modules\/([^/]+)/gm)].map(([, name]) => name))
  expect(loaded).toContain('commander')
  expect(['bullmq', 'fastify', 'ioredis', 'undici', 'nodemailer', 'zod'].filter((name) => loaded.has(name))).toEqual([])
})

test('on a Node that is too old a command names the one that is needed', async () => {
  const old = "data:text/javascript,Object.defineProperty(process.versions,'node',{value:'20.20.2'})"
  const { code, err } = await run(process.execPath, ['--import', old, MAIN, 'status'], ROOT)
  expect({ code, err }).toEqual({
    code: 1,
    err: expect.stringMatching(/^plimsoll: it takes Node 22\.19 or newer, this is 20/),
  })
})
