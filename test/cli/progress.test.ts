import { expect, test } from 'vitest'
import { showProgress } from '../../src/cli/progress.ts'
import { HandClock } from '../support/hand-clock.ts'

function show(errIsTerminal: boolean) {
  const clock = new HandClock()
  let text = ''
  const err = (more: string) => {
    text += more
  }
  const progress = showProgress({ err, errIsTerminal, clock }, 'accounts')
  return { clock, progress, text: () => text }
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

test('elsewhere it is a line now and then', () => {
  const { clock, progress, text } = show(false)
  for (let second = 0; second <= 25; second++) {
    progress.at(second, 25)
    clock.move(1_000)
  }
  progress.end()
  expect(text()).toBe('accounts: 2 of 25\naccounts: 12 of 25\naccounts: 22 of 25\n')
})

test('of nothing at all is a full bar', () => {
  const { clock, progress, text } = show(true)
  clock.move(2_000)
  progress.at(0, 0)
  expect(text()).toContain(`[${'#'.repeat(30)}] accounts: 0 of 0`)
})
