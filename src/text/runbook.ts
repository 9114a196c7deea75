/**
 * Every section about alerts in config/guide/runbook.md, by kind and cause. Mails and pages link to these: a name that is out
 * stays.
 */
export const RUNBOOK = {
  limit: [],
  'limit-changed': [],
  token: ['failing', 'reauthorize', 'foreign', 'uninstall'],
  poll: ['scopes', 'failing', 'unauthorized', 'unreadable'],
  fleet: ['credentials', 'refused', 'unreachable', 'throttled', 'clock', 'coverage', 'calls', 'data'],
  delivery: ['failing', 'disabled', 'recipients'],
  test: [],
} as const satisfies Record<string, readonly string[]>

/** A path, not an anchor: it is still there after signing in. A cause without a section of its own leads to its kind's. */
export function runbookUrl(publicUrl: string, kind: keyof typeof RUNBOOK, cause?: string): string {
  const causes: readonly string[] = RUNBOOK[kind]
  const section = cause !== undefined && causes.includes(cause) ? `${kind}-${cause}` : kind
  return `${publicUrl.replace(/\/$/, '')}/runbook/${section}`
}
