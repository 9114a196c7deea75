import { findAlert } from '../alerts/acknowledge.ts'
import type { OpenState } from '../alerts/open-alerts.ts'
import { NO_ACCOUNT } from '../redis/steps.ts'
import { cleanText } from '../text/clean-text.ts'
import { required, textField } from './field.ts'
import { Refusal } from './refusal.ts'

/* Common parts of operations on one alert. */

export const ALERT = required(textField('its id, or the first six characters of it, or more', { option: 'alert' }))

/** The open alert that an id, or its beginning, names. */
export async function alertNamed(deps: Parameters<typeof findAlert>[0], given: string): Promise<OpenState> {
  const found = await findAlert(deps, given)
  const wayOut = 'plimsoll alerts list shows those that are'
  switch (found.is) {
    case 'found':
      return found.alert
    case 'no-id':
      throw new Refusal(
        'unknown',
        `"${given.slice(0, 40)}" is not the id of an alert, nor its first six characters or more`,
        {
          field: 'id',
          wayOut: 'plimsoll alerts list shows them',
        },
      )
    case 'several':
      throw new Refusal('ambiguous', `several open alerts begin with ${given}: ${found.ids.join(', ')}`)
    case 'unknown':
      throw new Refusal('unknown', `no alert ${given.slice(0, 40)} is open`, { wayOut })
  }
}

export function justClosed(id: string): Refusal {
  return new Refusal('unknown', `alert ${id} has just been closed`)
}

/** The alert's id and its account, for programs. */
export function idsOf({ id, hubId }: OpenState): { id: string; hubId: number | null } {
  return { id, hubId: hubId === NO_ACCOUNT ? null : hubId }
}

/** For people: `acme.example.com (123)`. */
export function whoseAlert({ hubId, hubDomain }: OpenState): string {
  if (hubId === NO_ACCOUNT) return 'all accounts'
  return hubDomain === '' ? `account ${hubId}` : `${cleanText(hubDomain)} (${hubId})`
}
