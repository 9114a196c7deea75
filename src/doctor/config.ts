import type { Notice } from '../../config/problems.ts'
import { type Finding, ok, warn } from './finding.ts'

/** The end of a dialect has a check of its own. */
const TOLD_ELSEWHERE = ['provider.api']

/** What works as written, but deserves a word. */
export function checkConfig(notices: readonly Notice[]): Finding[] {
  const told = notices.filter(({ path }) => !TOLD_ELSEWHERE.includes(path))
  if (told.length === 0) return [ok('config', 'nothing to say')]
  return told.map(({ path, line, message }) => {
    const place = line === undefined ? path : `${path} (line ${line})`
    return warn('config', place === '' ? message : `${place}: ${message}`)
  })
}
