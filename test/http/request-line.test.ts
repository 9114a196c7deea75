import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { RequestLine } from '../../src/http/request-line.ts'

/** As much of a request as its place in the line depends on. */
function requests() {
  const refused: number[] = []
  const connection = () => ({ destroyed: false, destroy: () => undefined })
  const response = {
    writeHead: (status: number) => {
      refused.push(status)
      return { end: () => {} }
    },
  } as unknown as ServerResponse
  const on = (socket: object, url = '/sign-in') => ({ socket, url }) as IncomingMessage
  return { refused, response, connection, on }
}

test('of a flood a few begin at a time, in their order, and everything else has its turn in between', async () => {
  const { response, connection, on } = requests()
  const line = new RequestLine()
  const begun: number[] = []
  for (let n = 0; n < 100; n++) line.take(on(connection()), response, () => begun.push(n))
  expect(begun).toEqual([])
  let before = 0
  while (begun.length < 100) {
    await nextTurn()
    expect(begun.length - before).toBeLessThanOrEqual(8)
    before = begun.length
  }
  expect(begun).toEqual(Array.from({ length: 100 }, (_, n) => n))
})

test('a probe begins ahead of a flood, and a flood of probes leaves others their share', async () => {
  const { response, connection, on } = requests()
  const line = new RequestLine()
  const begun: string[] = []
  for (let n = 0; n < 50; n++) {
    for (const url of ['/sign-in', '/healthz?x']) line.take(on(connection(), url), response, () => begun.push(url))
  }
  while (begun.length < 16) await nextTurn()
  expect(begun.slice(0, 16).filter((url) => url === '/healthz?x')).toHaveLength(8)
})

test('a line that is too long takes no more, and has room again once it has moved', async () => {
  const { refused, response, connection, on } = requests()
  const line = new RequestLine()
  let begun = 0
  for (let n = 0; n < 2_005; n++) line.take(on(connection()), response, () => begun++)
  expect(refused).toEqual([503, 503, 503, 503, 503])
  while (begun < 2_000) await nextTurn()
  line.take(on(connection()), response, () => begun++)
  await nextTurn()
  await nextTurn()
  expect([begun, refused.length]).toEqual([2_001, 5])
})

test('a connection that sends requests far ahead of their answers is cut off, and so is one that went away', async () => {
  const { response, on } = requests()
  const line = new RequestLine()
  let begun = 0
  const socket = { destroyed: false, destroy: () => Object.assign(socket, { destroyed: true }) }
  for (let n = 0; n < 9; n++) line.take(on(socket), response, () => begun++)
  expect(socket.destroyed).toBe(true)
  for (let n = 0; n < 5; n++) await nextTurn()
  expect(begun).toBe(0)
})
