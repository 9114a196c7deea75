import { expect, test } from 'vitest'
import { showProgress } from '../../src/cli/progress.ts'
import { HandClock } from '../support/hand-clock.ts'

function show(errIsTerminal: boolean, errColumns = 80, total?: number) {
  const clock = new HandClock()
  const stop = new AbortController()
  let text = ''
  const err = (more: string) => {
    text += more
  }
  const progress = showProgress({ err, errIsTerminal, errColumns, clock, stop: stop.signal }, 'accounts', total)
  return { clock, progress, stop, text: () => text }
}

test('work that is done within two seconds says nothing', () => {
  const { clock, progress, text } = show(true)
  for (let done = 0; done < 10; done++) {
    progress.at(done, 10)
    clock.move(190)
  }
  progress.end()
  expect(text()).toBe('')
})

test('on a terminal a bar grows in its place, at most ten times a second, and is gone at the end', () => {
  const { clock, progress, text } = show(true)
  clock.move(2_000)
  progress.at(25_000, 100_000)
  progress.at(26_000, 100_000)
  clock.move(100)
  progress.at(50_000, 100_000)
  progress.end()
  expect(text().split('\r\x1b[K')).toEqual([
    '',
    `[${'#'.repeat(7)}${'.'.repeat(23)}] accounts: 25,000 of 100,000`,
    `[${'#'.repeat(15)}${'.'.repeat(15)}] accounts: 50,000 of 100,000`,
    '',
  ])
})

test('after three seconds it says how fast it goes and how long it takes yet', () => {
  const { clock, progress, text } = show(true, 100)
  clock.move(4_000)
  progress.at(2_000, 100_000)
  progress.end()
  expect(text()).toContain('] accounts: 2,000 of 100,000, 500/s, 3 min left\r')
})

test('of what is slow the rate is that of a minute, and without a total nothing is said to be left', () => {
  const { clock, progress, text } = show(false)
  clock.move(20_000)
  progress.at(4, undefined)
  progress.end()
  expect(text()).toBe('accounts: 4, 12/min\n')
})

test('a narrow terminal has the text without the bar, cut before its last column', () => {
  for (const columns of [40, 24]) {
    const { clock, progress, text } = show(true, columns)
    clock.move(2_000)
    progress.at(25_000, 100_000)
    progress.end()
    const [, shown = ''] = text().split('\r\x1b[K')
    expect(shown).toBe(columns === 40 ? 'accounts: 25,000 of 100,000' : 'accounts: 25,000 of 10…')
  }
})

test('work that nobody can count says how long it has taken', async () => {
  const { clock, progress, text } = show(true)
  await clock.sleeper()
  clock.move(12_000)
  await clock.sleeper()
  progress.clear()
  progress.end()
  expect(text()).toBe('\r\x1b[Kaccounts, 12 s so far\r\x1b[K')
})

test('it shows itself also while the first account takes its time', async () => {
  const { clock, progress, text } = show(true, 80, 3)
  await clock.sleeper()
  clock.move(2_000)
  await clock.sleeper()
  expect(text()).toBe(`\r\x1b[K[${'.'.repeat(30)}] accounts: 0 of 3`)
  progress.end()
  expect(text().endsWith('\r\x1b[K')).toBe(true)
})

test('whoever stops it finds a clean line, and no bar after that', () => {
  const { clock, progress, stop, text } = show(true)
  clock.move(2_000)
  progress.at(1, 10)
  stop.abort()
  expect(text().endsWith('\r\x1b[K')).toBe(true)
  const before = text()
  clock.move(2_000)
  progress.at(2, 10)
  expect(text()).toBe(before)
})

test('elsewhere it is a line now and then', () => {
  const { clock, progress, text } = show(false)
  for (let second = 0; second <= 25; second++) {
    progress.at(second, 25)
    clock.move(1_000)
  }
  progress.end()
  expect(text()).toBe('accounts: 10 of 25, 1/s, 15 s left\naccounts: 20 of 25, 1/s, 5 s left\n')
})

test('of nothing at all is a full bar', () => {
  const { clock, progress, text } = show(true)
  clock.move(2_000)
  progress.at(0, 0)
  progress.end()
  expect(text()).toContain(`[${'#'.repeat(30)}] accounts: 0 of 0`)
})
