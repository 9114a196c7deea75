import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { ADMIN_TOKEN, BEARER, openServer } from '../http/open-server.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()

/** The head of a request and a part of its body; resolves with all that is answered. */
async function begin(url: string, path: string, part: string) {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    `Authorization: Bearer ${ADMIN_TOKEN}`,
    'Content-Type: application/json',
    'Content-Length: 1000',
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n${part}`)
  return socket
}

test('a body that does not come is not waited for, but for a file, and an answer takes as long as it takes', {
  timeout: 60_000,
}, async () => {
  const over = Promise.withResolvers<void>()
  const refresh = async () => {
    await over.promise
    return { is: 'unknown' } as const
  }
  const { server, ask } = await openServer(redis, { actions: { refresh } })
  // Its ten seconds end before those of the others, and it has no body.
  const refreshed = ask('POST', '/api/v1/accounts/5/refresh', BEARER)
  const [slow, file] = await Promise.all([
    begin(server.url, '/api/v1/silences', '{"comment":'),
    begin(server.url, '/api/v1/accounts/import', 'hubId,refreshToken\n'),
  ])
  let answered = ''
  for await (const chunk of slow) answered += chunk
  expect(answered).toMatch(/^HTTP\/1\.1 408 /)
  expect(file.destroyed).toBe(false)
  file.destroy()
  over.resolve()
  expect((await refreshed).status).toBe(404)
})
