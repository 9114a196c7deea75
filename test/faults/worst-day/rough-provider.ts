import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'

/** A request as it came over the wire. */
export interface RoughRequest {
  method: string
  path: string
  at: number
  /** As it came, to be sent on. */
  raw: Buffer
}

/** What happens to one request in place of the answer; `forward` has the provider answer, and gives that answer whole. */
export type Fault = (socket: Socket, forward: () => Promise<Buffer>, request: RoughRequest) => void

export interface RoughProvider {
  readonly url: string
  readonly seen: readonly RoughRequest[]
  /** Connections that are open now. */
  readonly connections: number
  /** What a request meets; undefined: the provider's own answer. */
  fault: (request: RoughRequest) => Fault | undefined
  /** Ends every connection that is open, without a word. */
  hangUp(): void
  stop(): Promise<void>
}

export const isToken = ({ path }: RoughRequest) => /^\/oauth\/[^/]+\/token(\?|$)/.test(path)
export const isReport = ({ path }: RoughRequest) => !path.startsWith('/oauth/')

/** Stands before the provider and speaks plain TCP, so that it can do to a connection what no HTTP server would. */
export async function startRoughProvider(
  providerUrl: string,
  listen: { host: string; port: number } = { host: '127.0.0.1', port: 0 },
): Promise<RoughProvider> {
  const seen: RoughRequest[] = []
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {}) // Connections that break off are the subject.
    void serve(socket)
  })
  async function serve(socket: Socket): Promise<void> {
    const read = requestsOf(socket)
    for (;;) {
      const request = await read()
      if (request === undefined) return
      seen.push(request)
      const forward = () =>
        answerOf(providerUrl, request).catch(() => {
          socket.destroy() // The provider was stopped, at the end of a test.
          return Buffer.alloc(0)
        })
      const fault = rough.fault(request)
      if (fault !== undefined) fault(socket, forward, request)
      else await forward().then((answer) => socket.writable && socket.write(answer))
    }
  }
  server.listen(listen)
  await once(server, 'listening')
  const address = server.address()
  const rough: RoughProvider = {
    url: `http://${listen.host}:${typeof address === 'object' && address !== null ? address.port : 0}`,
    seen,
    get connections() {
      return sockets.size
    },
    fault: () => undefined,
    hangUp: () => {
      for (const socket of sockets) socket.destroy()
    },
    stop: async () => {
      rough.hangUp()
      server.close()
    },
  }
  return rough
}

/** An answer of one's own making, head and all. */
export function says(head: string, body: string | Buffer = ''): Fault {
  return (socket) => void socket.write(answer(head, body))
}

export function answer(head: string, body: string | Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${head.trim().replaceAll('\n', '\r\n')}\r\n\r\n`), Buffer.from(body)])
}

/** Whole requests, one after the other; undefined when the connection has ended. */
function requestsOf(socket: Socket): () => Promise<RoughRequest | undefined> {
  let bytes = Buffer.alloc(0)
  const chunks = socket[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  return async () => {
    for (;;) {
      const request = wholeRequest(bytes)
      if (request !== undefined) {
        bytes = bytes.subarray(request.raw.length)
        return request
      }
      const next = await chunks.next().catch(() => ({ done: true as const, value: undefined }))
      if (next.done === true) return undefined
      bytes = Buffer.concat([bytes, next.value])
    }
  }
}

function wholeRequest(bytes: Buffer): RoughRequest | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const head = bytes.subarray(0, end).toString('latin1')
  const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0)
  if (bytes.length < end + 4 + length) return undefined
  const [method = '', path = ''] = head.split(' ')
  return { method, path, at: Date.now(), raw: Buffer.from(bytes.subarray(0, end + 4 + length)) }
}

/** What the provider answers to just these bytes, on a connection of its own, framed so that another can carry it. */
async function answerOf(providerUrl: string, { raw, method, path }: RoughRequest): Promise<Buffer> {
  const end = raw.indexOf('\r\n\r\n')
  const headers = new Headers()
  for (const line of raw.subarray(0, end).toString('latin1').split('\r\n').slice(1)) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).toLowerCase()
    if (!['host', 'connection', 'content-length'].includes(name)) headers.set(name, line.slice(colon + 1).trim())
  }
  const body = raw.subarray(end + 4)
  const response = await fetch(providerUrl + path, {
    method,
    headers,
    redirect: 'manual',
    ...(body.length > 0 ? { body: new Uint8Array(body) } : {}),
  })
  const content = Buffer.from(await response.arrayBuffer())
  const kept = [...response.headers].filter(
    ([name]) => !['connection', 'transfer-encoding', 'keep-alive'].includes(name),
  )
  const lines = kept.filter(([name]) => name !== 'content-length').map(([name, value]) => `${name}: ${value}`)
  return answer(
    [`HTTP/1.1 ${response.status} ${response.statusText || 'X'}`, ...lines, `content-length: ${content.length}`].join(
      '\n',
    ),
    content,
  )
}
