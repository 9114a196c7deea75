import type { AlertSettings } from '../../alerts/evaluation/decide.ts'
import type { GroupSettings } from '../../alerts/groups/group.ts'
import type { Route } from '../../alerts/route.ts'

/** Everything of a config that decides what is told: rules, how they are judged, who gets it, in which messages. */
export interface RuleSet extends Omit<AlertSettings, 'pageOf'> {
  routes: readonly Route[]
  group: GroupSettings
}
