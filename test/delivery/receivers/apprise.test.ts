import { expect, test } from 'vitest'
import { aMessage, anAlert } from '../example-messages.ts'
import { aFarSide, answers, expectNothingOf, sendThrough } from './far-side.ts'

const settings = (url: string) => ({ type: 'apprise', url: `${url}/notify/s3cret-key` })

test('a notification has title, text and how bad it is', async () => {
  const { arrived, url } = await aFarSide(answers(200, 'ok'))
  await sendThrough(settings(url))
  await sendThrough(
    settings(url),
    aMessage([anAlert({ status: 'resolved', reason: 'recovered' })], { type: 'alert.resolved' }),
  )
  expect(arrived.map(({ path }) => path)).toEqual(['/notify/s3cret-key', '/notify/s3cret-key'])
  expect(arrived.map(({ body }) => JSON.parse(body) as object)).toMatchObject([
    {
      title: expect.stringContaining('[CRITICAL]'),
      body: expect.stringContaining('960 of'),
      type: 'failure',
      format: 'text',
    },
    { title: expect.stringContaining('[RESOLVED]'), type: 'success' },
  ])
})

test.each([
  [204, 'answered 204: no configuration under this key, nothing was sent'],
  [424, 'answered 424: a service behind Apprise failed, others may have it'],
  [500, 'answered 500: Internal Server Error'],
])('%i is a failure', async (status, reason) => {
  const { url } = await aFarSide(answers(status, status === 204 ? '' : 's3cret-key'))
  const got = await sendThrough(settings(url))
  expect(got).toEqual({ outcome: 'retry', answer: status, reason })
  expectNothingOf(got, 's3cret-key')
})
