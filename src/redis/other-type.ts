/** True where Redis refused because a key is of another type than it should be. */
export function isOfOtherType(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('WRONGTYPE')
}

/**
 * A value of one account among many: `instead` where its key is of another type, which the account's own work finds.
 */
export async function unlessOfOtherType<T, Instead>(reading: Promise<T>, instead: Instead): Promise<T | Instead> {
  try {
    return await reading
  } catch (error) {
    if (!isOfOtherType(error)) throw error
    return instead
  }
}
