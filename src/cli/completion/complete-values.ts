import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { receiverNames } from '../../../config/receiver-names.ts'

/**
 * `plimsoll __complete KIND -- WORDS...`: what a shell asks while somebody types, so it loads next to nothing, and says
 * nothing where it knows nothing.
 */
export function completeValues(args: readonly string[], env: Readonly<Record<string, string | undefined>>): string[] {
  const [kind, , ...words] = args
  if (kind !== 'receivers') return []
  try {
    const names = receiverNames(readFileSync(resolve(configFile(words) ?? (env.PLIMSOLL_CONFIG || DEFAULT)), 'utf8'))
    return names.filter((name) => /^[\w.-]+$/.test(name))
  } catch {
    return []
  }
}

const DEFAULT = 'config/plimsoll.yaml'

/** bash hands `--config=FILE` over in three words. */
function configFile(words: readonly string[]): string | undefined {
  for (const [n, word] of words.entries()) {
    if (word.startsWith('--config=') && word.length > '--config='.length) return word.slice('--config='.length)
    if (word === '-c' || word === '--config') return words[n + 1] === '=' ? words[n + 2] : words[n + 1]
  }
  return undefined
}
