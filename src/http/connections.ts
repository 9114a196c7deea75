import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { networkOf } from './access/client.ts'

/** Leaves room in the table of open files for Redis, the provider and receivers. */
const MOST_CONNECTIONS = 2_000
/** So many more may arrive in one moment, before those that make room for them are closed. */
const MOST_AT_ONCE = MOST_CONNECTIONS + 500

/** Connections of one client, in the order in which they last did something, each with the request that is not answered yet. */
type Own = Map<Socket, IncomingMessage | undefined>

/**
 * The connections of a server, and which of them hold a place without using it: those that have sent nothing, or part of a
 * request, since the last answer. A new one is always taken, and where all places are held, the oldest of these of the client
 * with most connections is closed: thousands that send slowly shut out no probe.
 */
export class Connections {
  readonly #byClient = new Map<string, Own>()
  readonly #ownOf = new WeakMap<Socket, [own: Own, client: string]>()
  #count = 0

  constructor(server: Server) {
    server.maxConnections = MOST_AT_ONCE
    server.on('connection', (socket: Socket) => {
      this.#add(socket)
      if (this.#count > MOST_CONNECTIONS) this.#makeRoom()
    })
  }

  /** The head of a request has arrived. */
  note(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request
    const [own] = this.#ownOf.get(socket) ?? []
    if (own?.has(socket) !== true) return
    own.set(socket, request)
    response.once('close', () => {
      // Another one may have been sent ahead of the answer.
      if (own.get(socket) !== request) return
      own.delete(socket) // So that it comes last.
      own.set(socket, undefined)
    })
  }

  /** Browsers open connections ahead of need, and node takes one that has not asked for anything yet for busy. */
  closeUnused(): void {
    for (const own of this.#byClient.values()) {
      for (const [socket, request] of own) if (request === undefined) socket.destroy()
    }
  }

  #add(socket: Socket): void {
    const client = networkOf(socket.remoteAddress ?? '')
    const own: Own = this.#byClient.get(client) ?? new Map()
    this.#byClient.set(client, own.set(socket, undefined))
    this.#ownOf.set(socket, [own, client])
    this.#count++
    socket.once('close', () => this.#remove(socket))
  }

  #remove(socket: Socket): void {
    const [own, client] = this.#ownOf.get(socket) ?? []
    if (own?.delete(socket) !== true) return
    this.#count--
    if (own.size === 0) this.#byClient.delete(client ?? '')
  }

  #makeRoom(): void {
    const all = [...this.#byClient.values()]
    const largest = all.reduce((one, other) => (other.size > one.size ? other : one))
    for (const own of [largest, ...all]) {
      for (const [socket, request] of own) {
        if (request?.complete === true) continue
        // At once, not when it is closed: the next one that arrives takes another's place.
        this.#remove(socket)
        socket.destroy()
        return
      }
    }
  }
}
