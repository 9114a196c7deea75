import type { Notice } from '../../config/problems.ts'
import { type Finding, ok, warn } from './finding.ts'

/** The end of a dialect has a check of its own. */
const REPORTED_ELSEWHERE = ['provider.api']

/** What works as written, but needs attention. */
export function checkConfig(notices: readonly Notice[]): Finding[] {
  const shown = notices.filter(({ path }) => !REPORTED_ELSEWHERE.includes(path))
  if (shown.length === 0) return [ok('config', 'no notices')]
  return shown.map(({ path, line, message }) => {
    const place = line === undefined ? path : `${path} (line ${line})`
    return warn('config', place === '' ? message : `${place}: ${message}`)
  })
}
