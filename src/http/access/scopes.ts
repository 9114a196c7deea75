/** What a caller may do: see pages and the API's facts, get access tokens, change data, see who did what. */
export const SCOPES = ['read', 'tokens', 'write', 'audit'] as const
export type Scope = (typeof SCOPES)[number]
