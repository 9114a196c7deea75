import { expect, test } from 'vitest'
import { aMessage, anAlert } from '../example-messages.ts'
import { aFarSide, answers, sendThrough } from './far-side.ts'

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
