import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { KINDS } from '../../config/schema/routes.ts'
import type { PollCause } from '../../src/alerts/alert.ts'
import { CHECKS } from '../../src/checks/all-checks.ts'
import type { ReceiverTrouble } from '../../src/delivery/receiver-health.ts'
import type { COVERAGE } from '../../src/limits/coverage.ts'
import type { DATA } from '../../src/redis/installation.ts'
import type { Cause } from '../../src/tokens/endpoint/breaker.ts'
import { anchorsOf } from '../support/documents.ts'
import { ROOT } from './sources.ts'

/** Causes by their types, so that a new cause does not compile before it has its entry. */
const FLEET = {
  credentials: 0,
  refused: 0,
  unreachable: 0,
  throttled: 0,
  clock: 0,
  coverage: 0,
  calls: 0,
  data: 0,
} satisfies Record<Cause | 'clock' | 'calls' | typeof COVERAGE | typeof DATA, 0>
const POLL = { scopes: 0, failing: 0, unauthorized: 0, unreadable: 0 } satisfies Record<PollCause, 0>
const DELIVERY = { failing: 0, disabled: 0, recipients: 0 } satisfies Record<ReceiverTrouble['is'], 0>

/** One entry for each alert and each check; alerts of Prometheus lead to one of them. */
export function runbookFaults(): string[] {
  const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
  const entries = anchorsOf({ path: '', text: read('config/guide/runbook.md') })
  const wanted = [
    ...KINDS,
    ...Object.entries({ fleet: FLEET, poll: POLL, delivery: DELIVERY }).flatMap(([kind, causes]) =>
      Object.keys(causes).map((cause) => `${kind}-${cause}`),
    ),
    ...CHECKS.map(({ name }) => `check-${name}`),
  ]
  const linked = [...read('config/deploy/prometheus/plimsoll.rules.yml').matchAll(/runbook_url: runbook\.md#(\S+)/g)]
  return [
    ...wanted.filter((entry) => !entries.includes(entry)).map((entry) => `runbook.md has no entry ${entry}`),
    ...linked
      .filter(([, anchor = '']) => !entries.includes(anchor))
      .map(([url]) => `plimsoll.rules.yml: ${url} is no entry of the runbook`),
  ]
}
