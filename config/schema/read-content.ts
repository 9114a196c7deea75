const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EACCES: 'this user may not read the file',
  EPERM: 'this user may not read the file',
  EISDIR: 'is a directory, not a file',
}

/** The content of a file without its byte order mark, or why there is none. */
export function readContent(file: string, readFile: (path: string) => string): { text?: string; fault?: string } {
  try {
    return { text: readFile(file).replace(/^\uFEFF/, '') }
  } catch (error) {
    return { fault: whyUnreadable(error) }
  }
}

export function whyUnreadable(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code
  const reason = typeof code === 'string' ? REASONS[code] : undefined
  return reason ?? `the file can't be read${typeof code === 'string' ? ` (${code})` : ''}`
}
