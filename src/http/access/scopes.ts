/** What a caller may do: see pages and the API's facts, get access tokens, change data. */
export const SCOPES = ['read', 'tokens', 'write'] as const
export type Scope = (typeof SCOPES)[number]
