const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/** The other texts that a decoder of base64url takes for the same bytes: the last character of 22 or 43 has bits to spare. */
export function otherSpellings(text: string): string[] {
  const bytes = Buffer.from(text, 'base64url')
  const others = [...ALPHABET].map((last) => text.slice(0, -1) + last).filter((one) => one !== text)
  return others.filter((one) => Buffer.from(one, 'base64url').equals(bytes))
}
