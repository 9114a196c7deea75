import { expect, test } from 'vitest'
import { showProgress } from '../../src/cli/progress.ts'
import { HandClock } from '../support/hand-clock.ts'

function show(total?: number) {
  const clock = new HandClock()
  const stop = new AbortController()
  let text = ''
  const err = (more: string) => {
    text += more
  }
  const progress = showProgress({ err, clock, stop: stop.signal }, 'accounts', total)
  return { clock, progress, stop, text: () => text }
}

test('work that is done within two seconds shows no progress', () => {
  const { clock, progress, text } = show()
  for (let done = 0; done < 10; done++) {
    progress.at(done, 10)
    clock.move(190)
  }
  progress.end()
  expect(text()).toBe('')
})

test('longer work shows a line after two seconds, and one every ten seconds from then on', () => {
  const { clock, progress, text } = show()
  for (let second = 0; second <= 25; second++) {
    progress.at(second, 25)
    clock.move(1_000)
  }
  progress.end()
  expect(text()).toBe('accounts: 2 of 25\naccounts: 12 of 25, 1/s, 13 s left\naccounts: 22 of 25, 1/s, 3 s left\n')
})

test('slow work has its rate by the minute, and without a total no time left', () => {
  const { clock, progress, text } = show()
  clock.move(20_000)
  progress.at(4, undefined)
  progress.end()
  expect(text()).toBe('accounts: 4, 12/min\n')
})

test('work without a count shows how long it has taken', async () => {
  const { clock, progress, text } = show()
  await clock.sleeper()
  clock.move(12_000)
  await clock.sleeper()
  progress.end()
  expect(text()).toBe('accounts, 12 s so far\n')
})

test('work that was stopped shows nothing more', () => {
  const { clock, progress, stop, text } = show()
  clock.move(2_000)
  progress.at(1, 10)
  stop.abort()
  clock.move(20_000)
  progress.at(2, 10)
  expect(text()).toBe('accounts: 1 of 10\n')
})
