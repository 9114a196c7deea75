import { OPERATION_NAMES } from '../operations/operations.ts'

/** First words of commands in the order of the help; of groups, their descriptions. */
export const FIRST_WORDS: Readonly<Record<string, string | undefined>> = {
  init: undefined,
  start: undefined,
  demo: undefined,
  sandbox: undefined,
  status: undefined,
  changes: undefined,
  upcoming: undefined,
  check: undefined,
  doctor: undefined,
  config: 'check, describe or print the config',
  accounts: 'list, show, connect, import, export, refresh, poll or uninstall accounts',
  alerts: 'alerts: list, explain, acknowledge or silence them; test receivers',
  thresholds: 'show what other thresholds would change',
  outbox: 'prove that no alert was lost; send again what was given up',
  'admin-tokens': 'make, list or remove tokens for pages and API',
  keys: 'change the keys that stored tokens are encrypted with',
  audit: 'show who did what',
  completion: undefined,
}

export function firstWord(name: string): string {
  return name.split(' ')[0] ?? ''
}

/** The operations that are commands, with others, in the order of the help. */
export function namesWith(others: readonly string[]): readonly string[] {
  const words = Object.keys(FIRST_WORDS)
  const place = (name: string) => words.indexOf(firstWord(name))
  // Operations of the API alone are called by their route.
  return [...OPERATION_NAMES.filter((name) => !name.includes('/')), ...others].sort((a, b) => place(a) - place(b))
}
