import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { run } from '../support/command.ts'

const ROOT = new URL('../../', import.meta.url).pathname

afterAll(() => rmSync(join(ROOT, 'dist'), { recursive: true, force: true }))

test('what npm run build makes runs as plain JavaScript, with its Lua steps, style sheet and configs', async () => {
  const built = await run('npm', ['run', '-s', 'build'], ROOT)
  expect({ code: built.code, out: built.out + built.err }).toEqual({ code: 0, out: '' })
  const main = join(ROOT, 'dist', 'src', 'main.js')
  const version = await run(process.execPath, [main, '--version'], ROOT)
  expect(version).toMatchObject({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) })
  const demo = await run(process.execPath, [main, 'demo', '--for', '28s', '--json'], ROOT)
  expect(demo.code, demo.err).toBe(0)
})
