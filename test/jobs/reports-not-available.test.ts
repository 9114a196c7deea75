import { expect, test } from 'vitest'
import { type FakeAnswers, fails, reads } from '../support/fake-provider.ts'
import { DAY, EVERY_MS, pollsOfFile } from './polled.ts'

const polled = pollsOfFile()

test.each<[what: string, report: FakeAnswers['report'] & {}]>([
  ['a 403', fails('forbidden', { status: 403 })],
  ['a 404', fails('client', { status: 404 })],
  ['an empty answer', reads({})],
])(
  'a report that an account does not have, by %s, is asked for once a day at rest, and is no alert',
  async (_, report) => {
    const reports = ['customProperties', 'pipelines']
    const one = await polled({
      settings: { limits: { reports } },
      provider: { report },
    })
    const perDay = DAY / EVERY_MS
    const askedAt: number[] = []
    for (let n = 0; n < 2 * perDay + 3; n++) {
      one.provider.calls.length = 0
      await one.poll()
      if (one.calls().includes('pipelines')) askedAt.push(n)
      one.clock.move(EVERY_MS)
    }
    expect(askedAt).toEqual([0, perDay, 2 * perDay])
    expect(await one.read()).toMatchObject({ notAvailable: ['pipelines'] })
    expect(await one.outbox()).toEqual([])
  },
)

test('an account that lacks the only report there is something of to ask for is asked as often as any', async () => {
  const one = await polled({
    settings: { limits: { reports: ['pipelines', 'associations'] } },
    provider: { report: fails('client', { status: 404 }) },
  })
  for (let n = 0; n < 3; n++) {
    one.provider.calls.length = 0
    await one.poll()
    expect(one.calls()).toEqual(['pipelines'])
    expect(await one.waits()).toBeGreaterThan(EVERY_MS / 2)
    one.clock.move(EVERY_MS)
  }
})
