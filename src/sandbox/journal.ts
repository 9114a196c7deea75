import type { FaultyEndpoint } from './faults.ts'

export type Endpoint = Exclude<FaultyEndpoint, 'hooks' | 'smtp'> | 'authorize' | 'other'

/** The report that each poll asks for, so that its requests count polls. */
export const EVERY_POLL: Endpoint = 'customProperties'

export type GrantType = 'authorization_code' | 'refresh_token'

/** One request to the provider. No field can hold a token: paths, queries and bodies aren't kept. */
export interface JournalEntry {
  /** ISO 8601 with milliseconds: when it arrived. */
  readonly time: string
  readonly endpoint: Endpoint
  readonly hubId: number | null
  /** 0: the connection was dropped. Undefined until it is answered: it isn't listed before. */
  status: number | undefined
  readonly method: string
  /** Version of the interface: the one in the path. */
  readonly api?: string | undefined
  readonly grant?: GrantType | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
}
