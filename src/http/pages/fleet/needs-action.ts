import type { FoundTrouble, Trouble, TroubleOf } from '../../../checks/check.ts'
import type { Group } from '../../../checks/status-facts.ts'
import type { FleetVerdict } from '../../../checks/verdict.ts'
import { formatCount } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import { when } from '../parts/cells.ts'

const MOST = 6

/** A trouble of all accounts, which is the headline of the page. */
export function outageOf({ troubles: [worst] }: FleetVerdict): FoundTrouble | undefined {
  return worst?.level === 'critical' && ['alert', 'nowhere'].includes(worst.of.is) ? worst : undefined
}

/** Troubles that need action, the worst consequence first: six lines, the others folded. Nothing where there are none. */
export function needsAction(all: readonly Trouble[], now: number): Html | undefined {
  const troubles = all.filter(({ of, level }) => of.is !== 'accounts' || of.group !== 'parked' || level === 'critical')
  if (troubles.length === 0) return undefined
  const shown = troubles.length > MOST ? troubles.slice(0, MOST - 1) : troubles
  const rest = troubles.slice(shown.length)
  const lines = (some: readonly Trouble[]) => html`<ul class="lines">${some.map((one) => lineOf(one, now))}</ul>`
  return html`<section class="needs-action" aria-labelledby="needs-action"><h2 id="needs-action">Needs action</h2>
${lines(shown)}${rest.length > 0 ? html`<details><summary>${formatCount(rest.length)} more</summary>${lines(rest)}</details>` : undefined}</section>`
}

/** Alerts are linked by their number; all else by the remedy. */
function lineOf({ level, verb, says, of, since }: Trouble, now: number): Html {
  const path = troublePath(of)
  const [name, ...more] = of.is === 'alerts' ? says.split('; ') : [verb, says]
  return html`<li class="${level}">${path === undefined ? html`<b>${name}</b>` : html`<a href="${path}">${name}</a>`} <span>${more.join('; ')}</span>${since === undefined ? undefined : html` <span class="soft">since ${when(since, now)}</span>`}</li>`
}

/** The list of exactly the accounts of a group. */
const LISTS: Readonly<Record<Group, string>> = {
  reauthorize: 'state=reauthorize',
  failing: 'state=failing',
  parked: 'state=parked',
  refresh: 'overdue=refresh',
  poll: 'overdue=poll',
  uninstall: 'overdue=uninstall',
  stale: 'stale=1',
}

/** The page of the trouble's subject, or the list of exactly those accounts or alerts. */
export function troublePath(of: TroubleOf): string | undefined {
  switch (of.is) {
    case 'accounts':
      return of.only === undefined ? `/accounts?${LISTS[of.group]}` : `/accounts/${of.only}`
    case 'alerts':
      return `/alerts?level=${of.level}&mark=active`
    case 'alert':
      return `/alerts/${of.id}`
    case 'receiver':
      return `/deliveries?receiver=${encodeURIComponent(of.receiver)}`
    case 'nowhere':
      return undefined
  }
}
