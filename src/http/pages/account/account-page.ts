import { cleanText } from '../../../text/clean-text.ts'
import { type Html, html } from '../../../text/html.ts'
import type { RefreshSettings } from '../../../tokens/plan-refresh.ts'
import type { AccountView, CurrentSeries } from '../../../views/account-view.ts'
import type { AccountExplanation } from '../../../views/explain-account.ts'
import { table } from '../parts/table.ts'
import { when } from '../parts/when.ts'
import type { AccountSeries } from './account-series.ts'
import { alertsPart } from './alerts-part.ts'
import { changesPart } from './changes-part.ts'
import { chartsPart } from './charts-part.ts'
import { factsPart } from './facts-part.ts'
import { recordsPart } from './records-part.ts'
import { associationsPart, customPropertiesPart } from './series-tables.ts'
import { standingPart } from './standing-part.ts'
import { tokensPart } from './tokens-part.ts'

export interface AccountPage {
  view: AccountView
  explained: AccountExplanation
  all: AccountSeries
  refreshing: RefreshSettings
  /** Whoever looks may acknowledge and silence. */
  mayWrite: boolean
}

/** Any account, understood in a minute: how it stands, what is open and why, how it moved; then everything else. */
export function accountPage({ view, explained, all, refreshing, mayWrite }: AccountPage): Html {
  const { series, account } = view
  const nameOf = (id: string) => typeName(id, series)
  return html`${standingPart(view, all)}
${PARTS}
${factsPart(view, all.now)}
${alertsPart(view, explained, all, mayWrite)}
${chartsPart(all)}
${tokensPart(account, refreshing, all.now)}
${customPropertiesPart(all)}
${associationsPart(all, nameOf)}
${recordsPart(series, nameOf)}
${changesPart(all)}
${storyPart(view, all.now)}`
}

const PARTS = html`<nav class="parts" aria-label="On this page"><a href="#alerts">Alerts</a><a href="#charts">Charts</a><a href="#tokens">Tokens</a><a href="#custom-properties">Custom properties</a><a href="#changes">Changes</a><a href="#story">Story</a></nav>`

function storyPart({ story }: AccountView, now: number): Html {
  return html`<section id="story"><h2>Story</h2>
${table(
  'Story',
  [{ title: 'When' }, { title: 'What' }, { title: 'Details' }],
  story.map(({ at, event, detail }) => [when(at, now), event, cleanText(detail ?? '', 400)]),
)}</section>`
}

/** An object type by the name that the account gives it. */
function typeName(id: string, series: readonly CurrentSeries[]): Html {
  const label = cleanText(series.find(({ objectTypeId }) => objectTypeId === id)?.label ?? '', 60)
  return label === '' ? html`${cleanText(id, 40)}` : html`${label} <span class="soft">${cleanText(id, 40)}</span>`
}
