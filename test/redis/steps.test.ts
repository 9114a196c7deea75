import { afterAll, beforeAll, expect, test } from 'vitest'
import { stepJson } from '../../src/redis/steps.ts'
import { startRedis, type TestRedis } from '../support/redis-server.ts'

let redis: TestRedis
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

const decode = (json: string) => redis.store().eval('return cjson.decode(ARGV[1]).text', 0, json)

test('what a step is given is JSON that Lua can read, whatever stands in it', async () => {
  for (const text of ['plain', 'an emoji 😀', 'a quote " and a \\ud83d that is spelt out', '']) {
    expect(await decode(stepJson({ text }))).toBe(text)
  }
  expect(await decode(stepJson({ text: 'half of one: \ud83d.' }))).toBe('half of one: \ufffd.')
  await expect(decode(JSON.stringify({ text: 'half of one: \ud83d.' }))).rejects.toThrow()
})
