import { UnreadableBytes } from './packed.ts'

/** What Redis holds of an account is not what was written there. The message says which key, and the way out. */
export class UnreadableKey extends Error {}

/** @throws UnreadableKey where `read` meets bytes that can't be what was written */
export function readKey<T>(hubId: number, key: string, wayOut: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof UnreadableBytes)) throw error
    throw new UnreadableKey(`account ${hubId}: what ${key} holds can't be read, ${error.message}. ${wayOut}`)
  }
}
