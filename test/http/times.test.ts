import { expect, test } from 'vitest'
import { redisOfFile } from '../support/of-file.ts'
import { openServer } from './open-server.ts'

const redis = redisOfFile()

test('times of pages are marked for a script that shows them in the zone of the reader', async () => {
  const { get } = await openServer(redis)
  const { text } = await get('/changes')
  expect(text).toMatch(/since <time datetime="2026-11-20T10:00:00.000Z">2026-11-20 10:00 UTC<\/time>\./)
  expect(text).toContain('<span data-zone>Times are in UTC</span>')
})

test('every page has the version and a way to the API, which lists each operation with its scope and fields', async () => {
  const { get } = await openServer(redis)
  expect((await get('/changes')).text).toMatch(/<footer>Plimsoll \d+\.\d+\.\d+ · <a href="\/api">/)
  const { status, text, words } = await get('/api')
  expect(status).toBe(200)
  expect(text).toContain('<a href="/api/v1/openapi.json">openapi.json</a>')
  expect(words).toMatch(
    /POST \/deliveries\/replay Send again what was given up since a moment.* write 2 since , required/,
  )
})
