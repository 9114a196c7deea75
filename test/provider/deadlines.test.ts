import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Deadlines } from '../../src/provider/http.ts'

const LIMIT_MS = 1_000

let late: string[]
const timed = (name: string) => ({
  expire: () => void late.push(`${name} at ${Math.round(performance.now() - begunAt)}`),
})
let begunAt: number

beforeEach(() => {
  vi.useFakeTimers()
  begunAt = performance.now()
  late = []
})
afterEach(() => {
  vi.useRealTimers()
})

test('each is late in its own time, whatever began before it and ended in time', () => {
  const deadlines = new Deadlines(LIMIT_MS)
  const inTime = timed('first')
  deadlines.begin(inTime)
  vi.advanceTimersByTime(300)
  deadlines.begin(timed('second'))
  vi.advanceTimersByTime(400)
  deadlines.begin(timed('third'))
  deadlines.end(inTime)
  vi.advanceTimersByTime(2 * LIMIT_MS)
  expect(late).toEqual(['second at 1300', 'third at 1700'])
})

test('one that begins when all before it have ended has its whole time, and nothing rings after it', () => {
  const deadlines = new Deadlines(LIMIT_MS)
  const before = timed('before')
  deadlines.begin(before)
  deadlines.end(before)
  vi.advanceTimersByTime(900)
  deadlines.begin(timed('later'))
  vi.advanceTimersByTime(999)
  expect(late).toEqual([])
  vi.advanceTimersByTime(2)
  expect(late).toEqual(['later at 1900'])
  expect(vi.getTimerCount()).toBe(0)
})
