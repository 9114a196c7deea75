import type { Alert } from '../../src/alerts/alert.ts'

let number = 0

/** An alert of its own, unless the test says otherwise. */
export function anAlert(more: Partial<Alert> = {}): Alert {
  return {
    id: `alert${++number}-1`,
    kind: 'limit',
    status: 'firing',
    level: 'warning',
    reason: 'entered',
    rule: 'customProperties.overall',
    account: { hubId: 123, hubDomain: 'acme.example.com' },
    measuredAt: '2026-11-21T10:00:00.000Z',
    since: '2026-11-21T10:00:00.000Z',
    ...more,
  }
}
