import { expect, test } from 'vitest'
import { aFarSide, answers, expectNothingOf, sendThrough } from './far-side.ts'

test('a message of blocks goes to the hook, without the link that acknowledges', async () => {
  const { arrived, url } = await aFarSide(answers(200, 'ok'))
  const outcome = await sendThrough({ type: 'slack', url: `${url}/services/T0/s3cret` })
  expect(outcome).toEqual({ outcome: 'delivered', answer: 200 })
  const [{ path, body } = { path: '', body: '' }] = arrived
  expect(path).toBe('/services/T0/s3cret')
  expect(JSON.parse(body)).toMatchObject({
    text: expect.stringContaining('acme.example.com'),
    blocks: expect.anything(),
  })
  expect(body).toContain('/alerts/a-1|Open alert')
  expect(body).not.toContain('acknowledge?')
})

test.each([
  [404, 'no_service', 'disable'],
  [410, 'channel_is_archived', 'disable'],
  [400, 'invalid_token', 'disable'],
  [400, 'invalid_blocks', 'retry'],
  [403, 'action_prohibited', 'retry'],
  [500, 'rollup_error', 'retry'],
])('an answer of %i %s is %s', async (status, body, outcome) => {
  const { url } = await aFarSide(answers(status, body))
  const got = await sendThrough({ type: 'slack', url: `${url}/services/T0/s3cret` })
  expect(got).toMatchObject({ outcome, answer: status })
  expectNothingOf(got, 's3cret')
})

test('429 waits for as long as Slack asks', async () => {
  const { url } = await aFarSide(answers(429, '', { 'retry-after': '30' }))
  expect(await sendThrough({ type: 'slack', url })).toMatchObject({ outcome: 'retry', retryAfterMs: 30_000 })
})
