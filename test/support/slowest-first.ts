import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** What waits for minutes of the clock or for many daemons: begun first, or the others would have ended long before. */
const SLOW = [
  'simulation/simulation',
  'http/unreadable-account',
  'views/one-value',
  'alerts/sending/model',
  'jobs/put-aside',
  'faults/pains-of-the-fleet',
  'e2e/messages',
  'e2e/main-job',
  'faults/rekey',
  'faults/pains.test',
  'faults/outages',
  'e2e/package',
  'e2e/hostile-strings',
  'faults/uninstall',
  'http/in-browser/every-page',
  'faults/worst-day/provider-slow',
  'faults/worst-day/redis-slow-or-cut-off',
  'faults/worst-day/redis-troubles',
  'faults/worst-day/names',
  'faults/worst-day/certificates',
]

export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const others = await super.sort(files)
    const rank = ({ moduleId }: TestSpecification) => {
      const found = SLOW.findIndex((name) => moduleId.includes(`/test/${name}`))
      return found === -1 ? SLOW.length : found
    }
    return others.toSorted((a, b) => rank(a) - rank(b))
  }
}
