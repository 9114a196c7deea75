import type { Config } from '../../config/schema.ts'
import type { MailLinks } from '../delivery/email/mail-links.ts'
import { recordPages } from '../delivery/email/record-page.ts'

/** What mails know beside the alerts themselves. */
export function mailLinks({
  provider,
  thresholds,
}: {
  provider: Pick<Config['provider'], 'installUrl'>
  thresholds: Config['thresholds']
}): MailLinks {
  return { record: recordPages(provider.installUrl), rule: (name) => placeOf(name, thresholds) }
}

/** Several rules may go by the same name: then none of their places can be told from it. */
function placeOf(name: string, rules: Config['thresholds']): string | undefined {
  const places = rules.flatMap((rule, index) => (rule.name === name ? [`thresholds[${index}]`] : []))
  return places.length === 1 ? places[0] : undefined
}
