import { expect, test } from 'vitest'
import { aFarSide, answers, sendThrough } from './far-side.ts'

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
