import { singular } from '../limits/object-type-name.ts'
import type { PollFailure } from '../limits/poll-state.ts'
import { reportNamed } from '../limits/reports/all-reports.ts'
import { cleanText } from '../text/clean-text.ts'
import { capitalized } from '../text/format-number.ts'
import { formatClock } from '../text/format-time.ts'

/**
 * The limits that polls fail to read, and those that they read: `Association limits can't be read (HubSpot has answered 502
 * since 13:36). Custom property limits are up to date.`
 */
export function unreadText(failure: PollFailure, now: number): string {
  return [unreadPart(failure, now), ...readPart(failure)].map((text) => `${text}.`).join(' ')
}

/** `Association limits can't be read (HubSpot has answered 502 since 13:36)`. */
export function unreadPart({ partly, ...failure }: PollFailure, now: number): string {
  const { unread = [], read = [] } = partly ?? {}
  const some = partly === undefined ? 'limits' : 'some limits'
  const named = unread.map((name) => (read.includes(name) ? `some ${limitsOf(name)}` : limitsOf(name)))
  return capitalized(`${named.join(' and ') || some} can't be read (${whyText(failure, now)})`)
}

function readPart({ partly }: PollFailure): string[] {
  if (partly === undefined) return []
  const whole = partly.unread.length === 0 ? [] : partly.read.filter((name) => !partly.unread.includes(name))
  return [capitalized(`${whole.map(limitsOf).join(' and ') || 'all other limits'} are up to date`)]
}

function whyText({ reason, since }: PollFailure, now: number): string {
  const why = asHubSpot(cleanText(reason, 300).replace(/[.\s]+$/, ''), 'has answered')
  return `${why}${/\d$/.test(why) ? '' : ','} since ${formatClock(since, now)}`
}

/** Why a call failed; what HubSpot answered in a sentence about HubSpot. */
export function asHubSpot(reason: string, verb: 'answered' | 'has answered' = 'answered'): string {
  return reason.replace(/^the provider answered\b/, `HubSpot ${verb}`)
}

/** `association limits`. */
function limitsOf(name: string): string {
  return `${singular(reportNamed(name)?.words ?? name)} limits`
}
