import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectRedis, type Store } from '../../src/redis/connect.ts'
import { eventually } from '../support/fleet.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'

let redis: RedisServer
let sentinel: Server
let store: Store | undefined
const listeners = new Set<Socket>()
/** What happens between the question for the master and its answer. */
let beforeAnswer = () => {}

beforeAll(async () => {
  redis = await startRedis()
  sentinel = createServer(answerAsSentinel).listen(0, '127.0.0.1')
  await once(sentinel, 'listening')
})
afterAll(async () => {
  store?.disconnect()
  for (const listener of listeners) listener.destroy()
  sentinel?.close()
  await redis?.stop()
})

const list = (...words: string[]) =>
  `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`

function answerAsSentinel(socket: Socket): void {
  socket.on('error', () => {})
  socket.on('close', () => listeners.delete(socket))
  socket.on('data', (bytes) => {
    // A line that begins a command: an array of so many words.
    for (const command of String(bytes)
      .toLowerCase()
      .split(/^\*\d+\r\n/m)
      .slice(1)) {
      if (command.includes('subscribe')) {
        listeners.add(socket)
        socket.write('>3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n')
      } else if (command.includes('get-master-addr-by-name')) {
        beforeAnswer()
        // What the listeners are told arrives before.
        setTimeout(() => socket.write(list('127.0.0.1', String(redis.port))), 100)
      } else socket.write(command.includes('sentinels') ? '*0\r\n' : '+OK\r\n')
    }
  })
}

test('a switch that is reported while the connection comes about anew neither ends it nor drops what waits', async () => {
  const nodes = [{ host: '127.0.0.1', port: (sentinel.address() as AddressInfo).port }]
  store = connectRedis({ kind: 'sentinels', sentinels: nodes, name: 'main' }, 'steps', () => {})
  await store.set('before', '1')
  await eventually('a listener', () => Promise.resolve(listeners.size > 0))
  const asked = new Promise<void>((resolve) => {
    beforeAnswer = () => {
      for (const listener of listeners) listener.write(list('message', '+switch-master', 'main').replace('*', '>'))
      resolve()
    }
  })
  await redis.connect().call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
  await asked
  expect(await store.set('meanwhile', '1')).toBe('OK')
  expect(await store.get('before')).toBe('1')
})
