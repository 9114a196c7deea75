import { cleanText } from '../text/clean-text.ts'
import { heartbeatText } from '../views/fleet-health.ts'
import { type Check, NOWHERE } from './check.ts'

export const heartbeatCheck: Check = {
  name: 'heartbeat',
  of: 'fleet',
  judge({ heartbeat }) {
    if (heartbeat === null || (heartbeat.ok && !heartbeat.late && heartbeat.ping?.sent !== false)) return []
    const says = `heartbeat: ${cleanText(heartbeatText(heartbeat), 200)}`
    return [{ level: heartbeat.ok ? 'warning' : 'critical', verb: 'Check the heartbeat', says, of: NOWHERE }]
  },
}
