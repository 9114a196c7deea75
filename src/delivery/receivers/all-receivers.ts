import { apprise } from './apprise/apprise.ts'
import { email } from './email/email.ts'
import { ntfy } from './ntfy/ntfy.ts'
import { pagerduty } from './pagerduty/pagerduty.ts'
import type { BodyContext, ReceiverKind, SettingsOf, ShownReceiver } from './receiver-kind.ts'
import { slack } from './slack/slack.ts'
import { teams } from './teams/teams.ts'
import { telegram } from './telegram/telegram.ts'
import { webhook } from './webhook/webhook.ts'

/** Every type of receivers, by its name in `type`. Config and doctor know no other list. */
const RECEIVERS = { email, webhook, slack, pagerduty, teams, ntfy, telegram, apprise }

type All = typeof RECEIVERS
type AllSettings = { [Type in keyof All]: All[Type]['settings'] }[keyof All]

export const RECEIVER_SETTINGS = Object.values(RECEIVERS).map(({ settings }) => settings) as [
  AllSettings,
  ...AllSettings[],
]

type ReceiverSettings = SettingsOf<AllSettings>

/** `never`, because each takes the settings of its own type only. */
const KINDS: Record<keyof All, ReceiverKind<never>> = RECEIVERS

export function receiverKind({ type }: { type: keyof All }): ReceiverKind<ReceiverSettings> {
  return KINDS[type]
}

/** One receiver; the caller closes it. Readers of a channel may not acknowledge in the name of another. */
export function openReceiver(settings: ReceiverSettings, context: BodyContext): ShownReceiver {
  const { toPeople, create } = receiverKind(settings)
  const { acknowledge: _, ...shared } = context.links ?? {}
  return create(settings, toPeople ? context : { ...context, links: shared })
}
