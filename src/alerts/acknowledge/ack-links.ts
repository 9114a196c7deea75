import { createHmac, timingSafeEqual } from 'node:crypto'

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
  pathTo({ hubId, alertId }: LinkedAlert, now: number): string {
    const until = Math.ceil((now + this.#lastMs()) / 1000)
    const signature = sign(this.#keys()[0], { hubId, alertId }, until)
    return `${ACKNOWLEDGE_PATH}?${queryOf({ hubId, alertId, until, signature })}`
  }

  /** What is wrong with a link is told only of one that was signed here. */
  read(query: unknown, now: number): ReadAckLink {
    const given = partsOf(query)
    if (given === undefined) return { is: 'forged' }
    const { hubId, alertId, until, signature } = given
    if (!this.#keys().some((key) => isSame(sign(key, given, until), signature))) return { is: 'forged' }
    return now < until * 1000 ? { is: 'good', hubId, alertId, query: queryOf(given) } : { is: 'expired' }
  }
}

/** Whoever has the link may acknowledge this alert, whatever becomes of it until it is closed. */
export interface LinkedAlert {
  hubId: number
  /** The alert's own, not that of one of its transitions. */
  alertId: string
}

export type ReadAckLink =
  /** `query`: the link's own, and nothing that came along with it. */
  | ({ is: 'good'; query: string } & LinkedAlert)
  | { is: 'expired' }
  /** Not signed here, or changed since. */
  | { is: 'forged' }

type Parts = LinkedAlert & { until: number; signature: Buffer }

function queryOf({ hubId, alertId, until, signature }: Parts): string {
  const given = { account: String(hubId), alert: alertId, until: String(until) }
  return String(new URLSearchParams({ ...given, signature: signature.toString('base64url') }))
}

function sign(key: Buffer, { hubId, alertId }: LinkedAlert, until: number): Buffer {
  return createHmac('sha256', key).update(`acknowledge:${hubId}:${alertId}:${until}`).digest()
}

function isSame(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other)
}

function partsOf(query: unknown): Parts | undefined {
  if (typeof query !== 'object' || query === null) return undefined
  const given = new Map<string, unknown>(Object.entries(query))
  const [account, alert, until] = [given.get('account'), given.get('alert'), given.get('until')]
  const signature = given.get('signature')
  // A parameter that is given twice is a list.
  if (typeof account !== 'string' || typeof alert !== 'string' || typeof until !== 'string') return undefined
  if (typeof signature !== 'string' || !/^[\w-]{43}$/.test(signature)) return undefined
  if (!/^\d{1,16}$/.test(account) || !/^\d{1,12}$/.test(until) || !/^[0-9a-f]{16}$/.test(alert)) return undefined
  const bytes = Buffer.from(signature, 'base64url')
  return { hubId: Number(account), alertId: alert, until: Number(until), signature: bytes }
}
