import { type LinkKind, readSigned, signedPath } from '../../runtime/signed-links.ts'

/** Where the holder of a link acknowledges an alert. */
export const ACKNOWLEDGE_PATH = '/acknowledge'

const LINKS: LinkKind<'account' | 'alert'> = {
  path: ACKNOWLEDGE_PATH,
  purpose: 'acknowledge',
  parameters: { account: /^\d{1,16}$/, alert: /^[0-9a-f]{16}$/ },
}

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
    return signedPath(LINKS, { account: String(hubId), alert: alertId }, this.#keys()[0], now + this.#lastMs())
  }

  read(query: unknown, now: number): ReadAckLink {
    const link = readSigned(LINKS, query, this.#keys(), now)
    if (link.is !== 'good') return link
    return { is: 'good', query: link.query, hubId: Number(link.values.account), alertId: link.values.alert }
  }
}

/** The holder of the link may acknowledge this alert until it is closed. */
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
