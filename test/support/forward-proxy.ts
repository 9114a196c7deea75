import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** A name that only the proxy resolves: to this machine. */
export const BEYOND = 'beyond.invalid'

/** A company's proxy: CONNECT for https, whole addresses for http. */
export interface ForwardProxy {
  port: number
  /** `CONNECT beyond.invalid:443`, `GET http://beyond.invalid:8080/path` */
  readonly seen: string[]
  /** Status of its own refusals; `silent` answers nothing; undefined: it passes everything on. */
  refuses: number | 'silent' | undefined
}

/** `login`: the `user:password` that it wants. */
export async function startForwardProxy(login?: string): Promise<ForwardProxy> {
  const open = new Set<Socket>()
  const refusalOf = ({ headers }: IncomingMessage) => {
    if (proxy.refuses !== undefined) return proxy.refuses
    const wanted = login === undefined ? undefined : `Basic ${Buffer.from(login).toString('base64')}`
    return headers['proxy-authorization'] === wanted ? undefined : 407
  }
  const server = createServer((incoming, response) => {
    const { method = '', url = '', headers } = incoming
    proxy.seen.push(`${method} ${url}`)
    const refusal = refusalOf(incoming)
    if (refusal === 'silent') return
    if (refusal !== undefined) return void response.writeHead(refusal).end('a page of the proxy')
    const { port, pathname, search } = new URL(url)
    const { 'proxy-authorization': _, ...passedOn } = headers
    const options = { host: '127.0.0.1', port, method, path: pathname + search, headers: passedOn }
    const outgoing = request(options, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    outgoing.on('error', () => response.destroy())
    incoming.pipe(outgoing)
  })
  server.on('connect', (incoming: IncomingMessage, socket: Socket) => {
    proxy.seen.push(`CONNECT ${incoming.url}`)
    const refusal = refusalOf(incoming)
    if (refusal === 'silent') return
    if (refusal !== undefined) return void socket.end(`HTTP/1.1 ${refusal} Refused\r\n\r\n`)
    const target = connect(Number(incoming.url?.split(':').at(-1)), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      socket.pipe(target).pipe(socket)
    })
    target.on('error', () => socket.destroy())
    socket.on('error', () => target.destroy())
  })
  server.on('connection', (socket) => {
    open.add(socket)
    socket.on('error', () => {}).on('close', () => open.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  const proxy: ForwardProxy = { port: (server.address() as AddressInfo).port, seen: [], refuses: undefined }
  return proxy
}
