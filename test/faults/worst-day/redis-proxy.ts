import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A way to Redis that a test can make slow, cut, or lead elsewhere. */
export interface RedisProxy {
  readonly url: string
  /** How long what is sent takes on the way, from now on, ms. */
  delayMs: number
  /** Where new connections lead; those that are open stay where they are. */
  target: number
  /** Nothing gets through any more, and nobody is told: packets are dropped. */
  cut(): void
  /** What was sent meanwhile arrives late, as TCP has it. */
  mend(): void
  close(): void
}

export async function startRedisProxy(port: number): Promise<RedisProxy> {
  const sockets = new Set<Socket>()
  let isCut = false
  const keep = (socket: Socket) => {
    sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    if (isCut) socket.pause()
  }
  const server = createServer((near) => {
    const far = connect(proxy.target, '127.0.0.1')
    forward(near, far, () => proxy.delayMs)
    forward(far, near, () => 0)
    keep(near)
    keep(far)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const proxy: RedisProxy = {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    delayMs: 0,
    target: port,
    cut: () => {
      isCut = true
      for (const socket of sockets) socket.pause()
    },
    mend: () => {
      isCut = false
      for (const socket of sockets) socket.resume()
    },
    close: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
  return proxy
}

/** In the order in which it came, also when the delay becomes shorter. */
function forward(from: Socket, to: Socket, delayMs: () => number): void {
  let lastAt = 0
  const later = (pass: () => void) => {
    const now = Date.now()
    lastAt = Math.max(lastAt, now + delayMs())
    if (lastAt <= now) pass()
    else setTimeout(pass, lastAt - now)
  }
  from.on('data', (data) => later(() => to.writable && to.write(data)))
  from.on('end', () => later(() => to.end()))
  from.on('close', () => later(() => to.destroy()))
}
