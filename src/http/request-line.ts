import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Problem } from './problem.ts'

/** So many requests begin in one turn of the event loop: some 2 ms of small ones. */
const PER_TURN = 8
/** Probes that come first in a turn: a supervisor that waits for an answer takes a daemon under a flood for one that hangs. */
const PROBES_PER_TURN = 4
const PROBE = /^\/(healthz|readyz)(\?|$)/
/** The line is as long as there may be connections. */
const MOST_WAITING = 2_000
/** Requests of one connection that were sent ahead of their answers. Thousands of them fit into one packet. */
const MOST_AHEAD = 8

/**
 * The line of requests that have arrived and are not begun. A flood arrives in one moment, and would be answered before
 * anything else moves: tokens, timers, answers of Redis and of the provider wait for a few requests at most.
 */
export class RequestLine {
  readonly #waiting: (() => void)[] = []
  readonly #probes: (() => void)[] = []
  readonly #waitingOf = new Map<Socket, number>()
  #isMoving = false

  /** Refused where the line is too long. */
  take({ socket, url = '' }: IncomingMessage, response: ServerResponse, begin: () => void): void {
    const ahead = this.#waitingOf.get(socket) ?? 0
    if (ahead >= MOST_AHEAD) {
      socket.destroy()
      return
    }
    const line = PROBE.test(url) ? this.#probes : this.#waiting
    if (line.length >= MOST_WAITING) {
      refuse(response)
      return
    }
    this.#waitingOf.set(socket, ahead + 1)
    line.push(() => {
      this.#waitingOf.delete(socket)
      // A client that went away while it waited costs nothing more.
      if (!socket.destroyed) begin()
    })
    if (this.#isMoving) return
    this.#isMoving = true
    setImmediate(() => this.#move())
  }

  /** Each begins as an immediate of its own, so that all which follows from it at once is done before the next. */
  #move(): void {
    const probes = this.#probes.splice(0, PROBES_PER_TURN)
    const others = this.#waiting.splice(0, PER_TURN - probes.length)
    for (const begin of [...probes, ...others]) setImmediate(begin)
    this.#isMoving = this.#probes.length + this.#waiting.length > 0
    if (this.#isMoving) setImmediate(() => this.#move())
  }
}

const BUSY = new Problem(503, 'Too many requests wait here. Try again shortly.')
const BUSY_BODY = JSON.stringify(BUSY)
const BUSY_HEADERS = {
  'content-type': 'application/problem+json',
  'content-length': Buffer.byteLength(BUSY_BODY),
  'retry-after': '1',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
}

function refuse(response: ServerResponse): void {
  response.writeHead(BUSY.status, BUSY_HEADERS).end(BUSY_BODY)
}
