import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { run } from '../support/command.ts'
import { startDaemon } from '../support/daemon.ts'
import { readDocuments } from '../support/documents.ts'
import { connectAll, eventually, hubIdsOf, journalOf } from '../support/fleet.ts'
import { expectNoDebugger } from '../support/no-debugger.ts'
import { openScene } from '../support/scene.ts'

const ROOT = new URL('../../', import.meta.url).pathname

afterAll(() => rmSync(join(ROOT, 'dist'), { recursive: true, force: true }))

test('what npm run build makes runs as plain JavaScript, with its Lua steps, style sheet and configs', async () => {
  const built = await run('npm', ['run', '-s', 'build'], ROOT)
  expect({ code: built.code, out: built.out + built.err }).toEqual({ code: 0, out: '' })
  const main = join(ROOT, 'dist', 'src', 'main.js')
  const version = await run(process.execPath, [main, '--version'], ROOT)
  expect(version).toMatchObject({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) })
  const [demo] = await Promise.all([
    run(process.execPath, [main, 'demo', '--for', '60s', '--json'], ROOT),
    refreshes(main),
  ])
  expect(demo.code, demo.err).toBe(0)
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
  expect(wanted).toContain('config/runbook.md')
  expect([...wanted, 'config/example.yaml', 'LICENSE'].filter((path) => !paths.includes(path))).toEqual([])
  expect(paths.filter((path) => /^(test|src|jobs|node_modules)\//.test(path))).toEqual([])
})

async function refreshes(main: string): Promise<void> {
  const scene = await openScene({ accounts: 1, tokenLifetimeMs: 4_000 })
  const daemon = await startDaemon(await scene.configFile(), {}, main)
  try {
    await connectAll(daemon.url, await hubIdsOf(scene.sandbox.url))
    const since = (await journalOf(scene.sandbox.url)).length
    await eventually('a refresh', async () => {
      const journal = (await journalOf(scene.sandbox.url)).slice(since)
      return journal.some(({ endpoint, status }) => endpoint === 'token' && status === 200)
    })
    await expectNoDebugger(daemon, [daemon.child.pid ?? 0])
  } finally {
    expect(await daemon.stop()).toBe(0)
    await scene.close()
  }
}
