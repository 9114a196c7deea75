/** True where a text fits a pattern, in which `*` matches any characters, also none. */
export function fits(pattern: string, text: string): boolean {
  if (!pattern.includes('*')) return pattern === text
  const [head = '', ...rest] = pattern.split('*')
  const tail = rest.pop() ?? ''
  if (text.length < head.length + tail.length || !text.startsWith(head) || !text.endsWith(tail)) return false
  let at = head.length
  for (const part of rest) {
    const found = text.indexOf(part, at)
    if (found === -1 || found + part.length > text.length - tail.length) return false
    at = found + part.length
  }
  return true
}
