import {
  cpSync,
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

test('what was made of the sources runs, with its Lua steps, style sheet and configs', async () => {
  const version = await run(process.execPath, [MAIN, '--version'], ROOT)
  expect(version).toMatchObject({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) })
})

test('a build is skipped until something has changed; then what is new runs, and what ran before stays', async () => {
  const copy = mkdtempSync(join(tmpdir(), 'plimsoll-build-'))
  const build = (...more: string[]) => run(process.execPath, [join(copy, 'config/setup/build.mjs'), ...more], copy)
  const version = async () => (await run(process.execPath, [join(copy, 'dist/src/main.js'), '--version'], copy)).out
  const made = () => statSync(join(copy, 'dist/src/main.js')).mtimeMs
  const chunks = () => readdirSync(join(copy, 'dist/chunks'))
  try {
    for (const path of ['src', 'jobs', 'config', 'package.json', 'package-lock.json'])
      cpSync(join(ROOT, path), join(copy, path), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
    expect(await build()).toEqual({ code: 0, out: '', err: '' })
    const [firstMade, first] = [made(), chunks()]

    // What an operator keeps there: its config has secrets, its data change all the time.
    mkdirSync(join(copy, 'config/.plimsoll'))
    writeFileSync(join(copy, 'config/.plimsoll/admin-token'), 'secret')
    writeFileSync(join(copy, 'config/plimsoll.yaml'), 'provider: { clientSecret: secret }')
    expect((await build()).code).toBe(0)
    expect(made()).toBe(firstMade)

    const manifest = join(copy, 'package.json')
    writeFileSync(manifest, readFileSync(manifest, 'utf8').replace(/"version": "[\d.]+"/, '"version": "77.0.0"'))
    const kept = first.find((name) => name.startsWith('nodemailer-'))
    const read = [`chunks/${kept}`, 'src/redis/lua/due.lua'].map((path) => join(copy, 'dist', path))
    const files = () => read.map((path) => statSync(path).ino)
    const before = files()
    expect((await build()).code).toBe(0)
    expect(await version()).toBe('77.0.0\n')
    expect(chunks()).toEqual(expect.arrayContaining(first))
    // Moved there: what is read while it is made is never half of it.
    const after = files()
    expect(after.filter((file, n) => file === before[n])).toEqual([])
    expect(readdirSync(join(copy, 'dist')).filter((name) => name.startsWith('.made'))).toEqual([])

    expect((await build('--anew')).code).toBe(0)
    expect(chunks()).toHaveLength(first.length)
    const inDist = readdirSync(join(copy, 'dist/config'), { recursive: true, encoding: 'utf8' })
    expect(inDist.filter((path) => /\.yaml$|\.plimsoll/.test(path))).toEqual(['demo.yaml'])
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

test('a command that shows what is stored loads a few files, and nothing that only daemons need', async () => {
  const script = [
    "import { registerHooks } from 'node:module'",
    'const load = (url, context, next) => (console.error(url), next(url, context))',
    'registerHooks({ load })',
  ].join(';')
  const hook = `data:text/javascript,${encodeURIComponent(script)}`
  const { err } = await run(process.execPath, ['--import', hook, MAIN, 'status', '--config', 'none.yaml'], ROOT)
  const loaded = [...err.matchAll(/^file:.*\/dist\/(.*)-[\w-]{8}\.js$/gm)].map(([, name]) => name)
  expect(loaded).toEqual(expect.arrayContaining(['chunks/program', 'chunks/status', 'chunks/store']))
  expect(loaded.length).toBeLessThan(10)
  const ofDaemons = ['queues', 'fastify', 'undici', 'nodemailer', 'app', 'services'].map((name) => `chunks/${name}`)
  const made = readdirSync(join(ROOT, 'dist/chunks')).map((name) => `chunks/${name.slice(0, -'-xxxxxxxx.js'.length)}`)
  expect(made).toEqual(expect.arrayContaining(ofDaemons))
  expect(loaded.filter((name) => ofDaemons.includes(name ?? ''))).toEqual([])
})

test('on a Node that is too old a command names the one that is needed', async () => {
  const old = "data:text/javascript,Object.defineProperty(process.versions,'node',{value:'20.20.2'})"
  const { code, err } = await run(process.execPath, ['--import', old, MAIN, 'status'], ROOT)
  expect({ code, err }).toEqual({
    code: 1,
    err: expect.stringMatching(/^plimsoll: it takes Node 22\.19 or newer, this is 20/),
  })
})
