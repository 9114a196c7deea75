/** Scopes of a caller: see pages and the API's facts, get access tokens, change data, read the audit. */
export const SCOPES = ['read', 'tokens', 'write', 'audit'] as const
export type Scope = (typeof SCOPES)[number]
/** The scope that an operation needs; `admin`: all of them. */
export type NeededScope = Scope | 'admin'
