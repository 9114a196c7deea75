import type { Clock } from '../runtime/clock.ts'
import { BoundedLog } from './bounded-log.ts'
import type { ReportName } from './report-table.ts'

export type Endpoint = 'token' | 'metadata' | 'delete' | 'companion' | 'authorize' | 'other' | ReportName

/** The report that each poll asks for, so that its requests count polls. */
export const EVERY_POLL: Endpoint = 'customProperties'

export type GrantType = 'authorization_code' | 'refresh_token'

/** One request to the provider. No field can hold a token: paths, queries and bodies aren't kept. */
export interface JournalEntry {
  /** ISO 8601 with milliseconds: when it arrived. */
  readonly time: string
  readonly endpoint: Endpoint
  readonly hubId: number | null
  /** 0: the connection was dropped. */
  readonly status: number
  readonly method: string
  /** Version of the interface: the one in the path. */
  readonly api?: string
  readonly grant?: GrantType
  readonly from?: string
  readonly to?: string
}

export interface Arrival {
  readonly endpoint: Endpoint
  readonly hubId: number | null
  readonly method: string
  readonly api?: string | undefined
  readonly grant?: GrantType | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
}

/** A request under way. It shows in the journal from the moment it is answered, in the order of arrival. */
export interface OpenEntry extends Arrival {
  readonly at: number
  status?: number
}

const KEPT_ENTRIES = 200_000

export class Journal {
  readonly #clock: Clock
  readonly #entries = new BoundedLog<OpenEntry>({ entries: KEPT_ENTRIES })

  constructor(clock: Clock) {
    this.#clock = clock
  }

  open(arrival: Arrival): OpenEntry {
    const entry: OpenEntry = { ...arrival, at: this.#clock.now() }
    this.#entries.add(entry)
    return entry
  }

  list(endpoint?: string): JournalEntry[] {
    const isListed = (entry: OpenEntry) =>
      entry.status !== undefined && (endpoint === undefined || entry.endpoint === endpoint)
    return this.#entries.all().filter(isListed).map(finished)
  }
}

function finished({ at, endpoint, hubId, status = 0, method, api, grant, from, to }: OpenEntry): JournalEntry {
  return {
    time: new Date(at).toISOString(),
    endpoint,
    hubId,
    status,
    method,
    ...(api !== undefined && { api }),
    ...(grant !== undefined && { grant }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
  }
}
