import { expect, test } from 'vitest'
import { run } from '../support/command.ts'

const HEAP = new URL('../../src/runtime/heap.ts', import.meta.url).href

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
