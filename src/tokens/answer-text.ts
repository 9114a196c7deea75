import { Secret } from '../runtime/secret.ts'
import type { TokensToStore } from './token-store.ts'

/** Tokens that are to be stored as one text, for memory or to be encrypted: they are in it in clear. */
export function answerText(tokens: TokensToStore): Secret {
  // Parsed as a whole, and not without the tokens: that takes twice as long.
  return new Secret(JSON.stringify({ ...tokens, access: tokens.access.reveal(), refresh: tokens.refresh?.reveal() }))
}

/** From a text of `answerText`: the caller knows that it is one. */
export function answerIn(text: Secret): TokensToStore {
  const answer = JSON.parse(text.reveal()) as Omit<TokensToStore, 'access' | 'refresh'> & {
    access: string
    refresh?: string
  }
  const { access, refresh } = answer
  const secrets = { access: new Secret(access), refresh: refresh === undefined ? undefined : new Secret(refresh) }
  return { ...answer, ...secrets } as TokensToStore
}
