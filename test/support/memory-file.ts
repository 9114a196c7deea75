import type { PendingFile } from '../../src/tokens/pending-tokens.ts'
import type { TokensToStore } from '../../src/tokens/token-store.ts'

/** In place of the file for pending tokens: `tokens` are those that it has. */
export function memoryFile(): PendingFile & { readonly tokens: TokensToStore[] } {
  const tokens: TokensToStore[] = []
  return { path: 'memory', tokens, write: (all) => void tokens.splice(0, Number.POSITIVE_INFINITY, ...all) }
}
