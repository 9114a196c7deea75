import { describe, expect, test } from 'vitest'
import type { Io } from '../../src/cli/io.ts'
import { createProgress } from '../../src/cli/progress.ts'
import { HandClock } from '../support/hand-clock.ts'

/** Ten seconds of work in steps of half a second. */
function work(errIsTerminal: boolean, total?: number, steps = 20): string {
  const clock = new HandClock()
  let said = ''
  const err = (text: string) => {
    said += text
  }
  const io = { clock, errIsTerminal, err } as unknown as Io
  const progress = createProgress(io, 'importing', total)
  for (let step = 0; step < steps; step++) {
    clock.move(500)
    progress.advance(1_000)
  }
  progress.end()
  return said
}

describe('progress', () => {
  test('of work that is done within two seconds is not told', () => {
    expect(work(false, 3_000, 3) + work(true, 3_000, 3)).toBe('')
  })

  test('in a log is a line now and then', () => {
    expect(work(false, 20_000)).toBe('importing: 4,000 of 20,000\nimporting: 14,000 of 20,000\n')
    expect(work(false)).toContain('importing: 4,000\n')
  })

  test('at a terminal is one bar that moves, and is gone at the end', () => {
    const frames = work(true, 20_000).split('\r\u001b[K')
    expect(frames[1]).toBe('importing [#####-------------------] 4,000 of 20,000')
    expect(frames.at(-2)).toBe('importing [########################] 20,000 of 20,000')
    expect(frames.at(-1)).toBe('')
    expect(work(true)).not.toContain('\n')
  })
})
