import { expect, test } from 'vitest'
import { type Admission, WaitQueue } from '../../../src/tokens/endpoint/wait-queue.ts'

const ANY = { refreshes: Number.POSITIVE_INFINITY, codes: Number.POSITIVE_INFINITY }

/** A queue, and who was let through, in order. */
function queueOf(refreshes: number, codes: number) {
  const queue = new WaitQueue()
  const through: string[] = []
  const note = (what: string) => (admission: Admission) => void through.push(`${what} ${admission.is}`)
  const all = [
    ...Array.from({ length: refreshes }, () => queue.join('refreshes', 0, 0).then(note('refresh'))),
    ...Array.from({ length: codes }, () => queue.join('codes', 0, 0).then(note('code'))),
  ]
  return { queue, through, all }
}

test('codes get a fifth of the calls while refreshes wait, however few are let through at a time', async () => {
  const { queue, through, all } = queueOf(40, 60)
  for (let n = 0; n < 50; n++) queue.admit(1, ANY)
  queue.turnAway(() => 7)
  await Promise.all(all)
  expect(through.filter((what) => what === 'code admitted')).toHaveLength(10)
  expect(through.filter((what) => what === 'refresh admitted')).toHaveLength(40)
  expect(through.filter((what) => what === 'code closed')).toHaveLength(50)
})

test('no call is held up for one of the other kind that must wait', () => {
  const { queue } = queueOf(3, 3)
  expect(queue.admit(9, { refreshes: 0, codes: 2 })).toEqual({ refreshes: 0, codes: 2 })
  expect(queue.admit(9, { refreshes: 2, codes: 0 })).toEqual({ refreshes: 2, codes: 0 })
  expect(queue.admit(9, ANY)).toEqual({ refreshes: 1, codes: 1 })
  expect(queue.length).toEqual({ refreshes: 0, codes: 0 })
})
