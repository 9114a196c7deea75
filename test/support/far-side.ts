import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** A request as it came over the wire. */
export interface SeenRequest {
  method: string
  /** Path and query, not decoded. */
  path: string
  headers: IncomingMessage['headers']
  body: string
}

export type Answer = (request: SeenRequest, response: ServerResponse) => void

export interface FarSide {
  readonly url: string
  readonly seen: SeenRequest[]
  /** What every request from now on gets. */
  answer: Answer
  /** Resolves once so many requests have come. */
  came(count: number): Promise<void>
  stop(): Promise<void>
}

/** A real HTTP server that answers what a test says. */
export async function startFarSide(): Promise<FarSide> {
  const seen: SeenRequest[] = []
  const watchers: (() => void)[] = []
  const server = createServer((request, response) => {
    response.on('error', () => {})
    text(request).then(
      (body) => {
        const { method = '', url: path = '', headers } = request
        const one = { method, path, headers, body }
        seen.push(one)
        for (const watcher of watchers.splice(0)) watcher()
        farSide.answer(one, response)
      },
      () => {}, // A client that hung up is part of the tests.
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const farSide: FarSide = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    answer: json(200, {}),
    came: async (count) => {
      while (seen.length < count) await new Promise<void>((resolve) => watchers.push(resolve))
    },
    stop: async () => {
      server.close()
      server.closeAllConnections()
    },
  }
  return farSide
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  return raw(status, JSON.stringify(body), { 'content-type': 'application/json', ...headers })
}

export function raw(status: number, body: string | Buffer, headers: Record<string, string> = {}): Answer {
  return (_request, response) => {
    response.writeHead(status, headers)
    response.end(body)
  }
}
