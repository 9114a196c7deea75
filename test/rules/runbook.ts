import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { KINDS } from '../../config/schema/routes.ts'
import { CHECKS } from '../../src/checks/all-checks.ts'
import { anchorsOf } from '../support/documents.ts'
import { ROOT } from './sources.ts'

/** One entry for each kind of alert and each check; alerts of Prometheus lead to one of them. */
export function runbookFaults(): string[] {
  const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
  const entries = anchorsOf({ path: '', text: read('config/guide/runbook.md') })
  const linked = read('config/deploy/prometheus/plimsoll.rules.yml').matchAll(/runbook_url: runbook\.md#(\S+)/g)
  const wanted = [
    ...KINDS,
    ...CHECKS.map(({ name }) => `check-${name}`),
    ...[...linked].map(([, anchor = '']) => anchor),
  ]
  return wanted.filter((entry) => !entries.includes(entry)).map((entry) => `runbook.md has no entry ${entry}`)
}
