import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { redisOfFile } from '../support/of-file.ts'
import { openServer } from './open-server.ts'

const redis = redisOfFile()
const MANY = 2_500
const HALF_A_HEAD = 'GET /healthz HTTP/1.1\r\nHost: a\r\n'

/** So many connections that send this and no more, each opened anew when it is cut. */
async function holdOpen(url: string, text: string): Promise<void> {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  let isOver = false
  onTestFinished(() => {
    isOver = true
    for (const socket of sockets) socket.destroy()
  })
  const hold = () =>
    new Promise<void>((held) => {
      const socket = connect(Number(port), hostname)
      sockets.add(socket)
      socket.on('connect', () => {
        socket.write(text)
        held()
      })
      socket.on('error', () => {})
      socket.resume().on('close', () => {
        sockets.delete(socket)
        held()
        // As fast as the server takes them, and not faster: the client shares its processor.
        if (!isOver) setImmediate(hold)
      })
    })
  await Promise.all(Array.from({ length: MANY }, hold))
}

test.each([
  ['half a head', HALF_A_HEAD],
  ['nothing', ''],
  ['half a body', `POST /sign-in HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\ntoken=`],
  ['a request, and half of another one', `GET /favicon.ico HTTP/1.1\r\nHost: a\r\n\r\n${HALF_A_HEAD}`],
])('thousands of connections that send %s shut out nobody', async (_, text) => {
  const open = await openServer(redis)
  await holdOpen(open.server.url, text)
  for (let n = 0; n < 5; n++) expect((await open.get('/healthz')).status).toBe(200)
  const { status } = await open.get('/accounts')
  expect(status).toBe(200)
})
