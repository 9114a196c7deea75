import { countOf, formatSpan } from '../text/format-number.ts'
import { accountText, handledText } from '../views/alert-texts.ts'
import { isLow, shareText } from '../views/fleet-health.ts'
import { confirmationText } from '../views/judge-account.ts'
import { type Check, critical, type Trouble, type TroubleOf, warning } from './check.ts'
import type { Group, StatusFacts } from './status-facts.ts'
import { isFailing } from './token-endpoint.ts'

type Make = (says: string, of: TroubleOf) => Trouble

/** Nothing where none of the group is left to be handled. */
function groupTroubles({ groups }: StatusFacts, group: Group, make: Make, what: string): Trouble[] {
  const { count, handled, first } = groups[group]
  if (count <= handled) return []
  const more = count > 1 ? ` and ${countOf(count - 1, 'more account')}` : ''
  const who = first === undefined ? countOf(count, 'account') : `${accountText(first)}${more}`
  const handledNote = handled === 0 ? '' : `, ${handledText({ handled })}`
  const only = count === 1 && first !== undefined ? { only: first.hubId } : {}
  return [make(`${who}: ${what}${handledNote}`, { is: 'accounts', group, ...only })]
}

export const accountTokens: Check = {
  name: 'account-tokens',
  of: 'accounts',
  judge(facts) {
    const { groups, tokens } = facts
    const lost = groupTroubles(
      facts,
      'reauthorize',
      (...more) => critical('Reconnect', ...more),
      'refresh token refused',
    )
    // While the endpoint fails for all, each of them fails with it.
    if (isFailing(facts)) return lost
    const late = `refresh overdue for ${formatSpan(tokens.lateMs)}`
    const expired = tokens.overdue - groups.refresh.count
    const isGrave = groups.failing.isDead === true || expired > groups.failing.handled
    const { confirmedBy, count } = groups.failing
    const refused =
      confirmedBy === undefined ? '' : `refresh token refused, ${confirmationText(confirmedBy, facts.now)}`
    const what = refused === '' ? 'refresh fails' : count === 1 ? refused : `refresh fails; ${refused}`
    const fails = expired > groups.failing.handled ? `${what}, ${countOf(expired, 'token')} expired` : what
    const { isDead = false } = groups.parked
    const paused = `paused by HubSpot${isDead ? ', token expired' : ''}`
    const verb = refused === '' ? 'Check refreshes' : 'Reconnect'
    return [
      ...lost,
      ...groupTroubles(facts, 'refresh', (...more) => critical('Check refreshes', ...more), late),
      ...groupTroubles(facts, 'failing', (...more) => (isGrave ? critical : warning)(verb, ...more), fails),
      ...groupTroubles(facts, 'parked', (...more) => (isDead ? critical : warning)('Paused', ...more), paused),
    ]
  },
}

export const accountPolls: Check = {
  name: 'account-polls',
  of: 'accounts',
  judge(facts) {
    const { polls, coverage, alerts, handled } = facts
    const isAlerted = alerts.worst.some(
      ({ kind, field }) => kind === 'fleet' && (field === 'coverage' || field === 'provider'),
    )
    const handledNote = handled.has('coverage') || handled.has('provider') ? ', acknowledged or silenced' : ''
    const stale = `no fresh reading (${shareText(coverage)} have one${handledNote})`
    const check: Make = (...more) => warning('Check polls', ...more)
    return [
      ...groupTroubles(facts, 'poll', check, `poll overdue for ${formatSpan(polls.lateMs)}`),
      ...(isLow(coverage) && !isAlerted ? groupTroubles(facts, 'stale', check, stale) : []),
    ]
  },
}

export const accountUninstalls: Check = {
  name: 'account-uninstalls',
  of: 'accounts',
  judge(facts) {
    const what = `uninstall overdue for ${formatSpan(facts.uninstalls.lateMs)}`
    return groupTroubles(facts, 'uninstall', (...more) => warning('Check uninstalls', ...more), what)
  },
}
