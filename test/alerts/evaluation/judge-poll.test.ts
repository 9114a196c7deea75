import { expect, test } from 'vitest'
import { pollJudge } from '../../../src/alerts/evaluation/judge-poll.ts'
import { pollAnnouncer } from '../../../src/alerts/kinds/poll-alert.ts'
import { NO_ALERT_WRITES } from '../../../src/redis/steps.ts'
import { pageOf } from '../../accounts/connected.ts'

function settingsOf(line: number, percent: number) {
  const rules = [{ name: 'all', on: 'customProperties.*', line, warning: { percent } }]
  const alerts = { rules, recoverBelow: 3, for: 0, repeatEveryMs: 1_000, firstRun: 'alert' as const, pageOf }
  const announcePoll = pollAnnouncer({ scopes: ['crm'], opensLimits: true, repeatEveryMs: 1_000, pageOf })
  return pollJudge({ alerts, announcePoll, announce: { failing: () => NO_ALERT_WRITES } }).settings
}

test('a rule that moves to another line judges no account anew, one that changes judges all', () => {
  expect(settingsOf(7, 80)).toBe(settingsOf(3, 80))
  expect(settingsOf(3, 81)).not.toBe(settingsOf(3, 80))
})
