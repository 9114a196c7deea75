import { cleanText } from '../text/clean-text.ts'
import { heartbeatText } from '../views/fleet-health.ts'
import type { Check } from './check.ts'

export const heartbeatCheck: Check = {
  name: 'heartbeat',
  of: 'fleet',
  judge({ heartbeat }) {
    if (heartbeat === null || (heartbeat.ok && !heartbeat.late && heartbeat.ping?.sent !== false)) return []
    const says = `heartbeat: ${cleanText(heartbeatText(heartbeat), 200)}`
    const of = { is: 'runbook', section: 'plimsoll-heartbeat-not-ok' } as const
    return [{ level: heartbeat.ok ? 'warning' : 'critical', verb: 'Check the heartbeat', says, of }]
  },
}
