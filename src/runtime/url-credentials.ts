import type { Secret } from './secret.ts'

/** A URL with user and password taken out of it and decoded, or null for what is no URL. Never throws: errors would quote it. */
export function splitCredentials(secret: Secret): { url: URL; user: string; password: string } | null {
  const url = URL.parse(secret.reveal())
  if (url === null) return null
  const user = decode(url.username)
  const password = decode(url.password)
  url.username = ''
  url.password = ''
  return { url, user, password }
}

/** A password with a bare `%` is taken literally. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** v1 of the provider's interface carries tokens in paths: the text after these segments is taken out of any URL. */
const TOKEN_IN_PATH = /(\/oauth\/v1\/(?:access|refresh)-tokens\/)[^/?#\s"']+/g

export function redactUrls(text: string): string {
  return text.replace(TOKEN_IN_PATH, '$1[secret]').replace(/(\/\/[^/:@\s]*:)[^@/\s]+@/g, '$1[secret]@')
}
