import { alertmanagerBody } from './alertmanager.ts'
import type { BodyOf } from './format.ts'
import { plimsollBody } from './plimsoll.ts'
import { slackBody } from './slack.ts'

export type WebhookFormat = 'plimsoll' | 'alertmanager' | 'slack'

export const BODIES: Record<WebhookFormat, BodyOf> = {
  plimsoll: plimsollBody,
  alertmanager: alertmanagerBody,
  slack: slackBody,
}
