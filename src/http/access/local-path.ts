const HERE = 'http://here.invalid'

/** Where to go on after signing in: a path of this server, or `/` for an address elsewhere. */
export function localPath(text: unknown): string {
  if (typeof text !== 'string' || !text.startsWith('/')) return '/'
  const url = URL.parse(text, HERE)
  if (url === null || url.origin !== HERE) return '/'
  const path = url.pathname + url.search
  // What a parser makes of dots and backslashes may start with two slashes again, which is another host.
  return path.startsWith('//') ? '/' : path
}
