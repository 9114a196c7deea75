import { expect, test } from 'vitest'
import { watchFileRoom } from '../../src/runtime/process.ts'
import { run } from '../support/command.ts'
import { eventually } from '../support/fleet.ts'
import { logLines } from '../support/log-lines.ts'

const HEAP = new URL('../../src/runtime/process.ts', import.meta.url).href

test('the engine knows what it is told of its heap, and gives back what nobody holds any more', async () => {
  const program = `
    import { collectGarbage, growHeapEvenly } from '${HEAP}'
    growHeapEvenly()
    let held = Array.from({ length: 300_000 }, (_, n) => ({ n }))
    collectGarbage()
    const before = process.memoryUsage().heapUsed
    held = undefined
    collectGarbage()
    console.log(before - process.memoryUsage().heapUsed)
  `
  const { code, out, err } = await run(process.execPath, ['--input-type=module', '-e', program], '.')
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(Number(out)).toBeGreaterThan(5_000_000)
})

test('that no more files can be opened is told once, and its end once; another trouble is none of it', async () => {
  const logged = logLines()
  let fails: string | undefined = 'ENOENT'
  let looks = 0
  const open = () => {
    looks++
    if (fails !== undefined) throw Object.assign(new Error(fails), { code: fails })
  }
  const end = watchFileRoom(logged.log, open, 5)
  const threeLooks = () => {
    const from = looks
    return eventually('three looks', async () => looks >= from + 3)
  }
  const codes = () => logged.lines().map(({ code }) => code)
  await threeLooks()
  expect(codes()).toEqual([])
  fails = 'EMFILE'
  await threeLooks()
  expect(codes()).toEqual(['files.full'])
  fails = undefined
  await threeLooks()
  expect(codes()).toEqual(['files.full', 'files.room'])
  end()
})
