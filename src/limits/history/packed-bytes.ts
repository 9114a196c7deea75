/** Bytes that are not what was written. The message names the fault, not the place. */
export class UnreadableBytes extends Error {}

/** The stored bytes of an account are not what Plimsoll wrote. The message names the key, and the way out. */
export class UnreadableKey extends Error {}

/** @throws UnreadableKey where `read` meets bytes that can't be what was written */
export function readKey<T>(hubId: number, key: string, hint: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof UnreadableBytes)) throw error
    throw new UnreadableKey(`account ${hubId}: ${key} can't be read, ${error.message}. ${hint}`)
  }
}

/** For who shows many things of an account, of which one can't be read. */
export async function unlessUnreadable<T>(read: () => Promise<T>): Promise<T | 'unreadable'> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof UnreadableKey)) throw error
    return 'unreadable'
  }
}
