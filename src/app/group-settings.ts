import type { Config } from '../../config/schema.ts'
import type { GroupSettings } from '../alerts/groups/group.ts'

export function groupSettings({ alerts }: Config): GroupSettings {
  const { by, wait: waitMs, interval: intervalMs, max } = alerts.group
  return { by, waitMs, intervalMs, max }
}
