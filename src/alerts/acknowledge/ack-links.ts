import { ackLink, type LinkedAlert, type ReadAckLink, readAckLink } from './ack-link.ts'

/** Where an alert is acknowledged by whoever has the link. */
export const ACKNOWLEDGE_PATH = '/acknowledge'

/** Links with the keys and the time that are in force when they are asked for: a SIGHUP may bring others. */
export class AckLinks {
  readonly #keys: () => readonly [Buffer, ...Buffer[]]
  readonly #lastMs: () => number

  /** The first key signs, all verify. */
  constructor(keys: () => readonly [Buffer, ...Buffer[]], lastMs: () => number) {
    this.#keys = keys
    this.#lastMs = lastMs
  }

  /** A path of this server, signed. */
  pathTo(alert: LinkedAlert, now: number): string {
    return `${ACKNOWLEDGE_PATH}?${ackLink(this.#keys()[0], alert, now + this.#lastMs())}`
  }

  read(query: unknown, now: number): ReadAckLink {
    return readAckLink(this.#keys(), query, now)
  }
}
