import { type Alert, byConsequence, type Message } from '../../alerts/alert.ts'
import { seriesName } from '../../alerts/series-name.ts'
import { cleanText, shorten } from '../../text/clean-text.ts'
import { countOf, formatCount } from '../../text/format-number.ts'
import { accountName, badgeOf, headlineOf, lastedFor } from './describe-alert.ts'

/** As much as mail programs show, beside the account's name. */
const LONGEST = 60
/** All of it: names, effects and causes may be strangers' words. */
const MAX_LENGTH = 180

/** The subject line: how bad, where, what. How much more there is, and how long it lasted, is never cut off. */
export function subjectLine(message: Message): string {
  const { type, data } = message
  const alerts = data.alerts.toSorted(byConsequence)
  const [first] = alerts
  const badge = `[${badgeOfMessage(message)}] `
  if (type === 'alert.digest') return badge + digestOf(data)
  // A newer message took over all that it showed.
  if (first === undefined) return `${badge}${countOf(data.truncated, 'more alert')}`
  const end = endOf(first, data)
  const account = accountName(first)
  const room = LONGEST - badge.length - end.length
  // Where all accounts are meant they are part of the effect.
  const what =
    account === undefined
      ? shown(effectOf(first), MAX_LENGTH - badge.length - end.length)
      : `${shown(account, 100)}: ${shown(effectOf(first), room - 2)}`
  return badge + what + end
}

export function badgeOfMessage({ type, data }: Message): string {
  if (type === 'alert.digest') return 'DIGEST'
  if (type === 'alert.test') return 'TEST'
  const firing = data.alerts.filter(({ status }) => status === 'firing')
  const worst = firing.find(({ level }) => level === 'critical') ?? firing[0]
  if (type === 'alert.resolved') return 'RESOLVED'
  return worst === undefined ? 'WARNING' : badgeOf(worst)
}

function endOf(first: Alert, { alerts, truncated }: Message['data']): string {
  const more = alerts.length - 1 + truncated
  const accounts = accountsIn(alerts)
  // What was left out may be about accounts that are not named here.
  if (accounts > 1 && truncated > 0) return ` and ${formatCount(more)} more (${formatCount(accounts)}+ accounts)`
  if (accounts > 1) return ` (${formatCount(accounts)} accounts)`
  if (more > 0) return ` and ${formatCount(more)} more`
  const lasted = lastedFor(first)
  return lasted === undefined ? '' : ` after ${lasted}`
}

function digestOf(data: Message['data']): string {
  const { period } = data
  return `${period === undefined ? 'first readings' : period === 'week' ? 'weekly' : 'daily'}: ${totalOf(data)}`
}

/** The number before the pair, or type, that it is about: the end is what may be cut off. */
function effectOf(alert: Alert): string {
  const headline = headlineOf(alert)
  const { series, kind } = alert
  if (series === undefined || kind !== 'limit') return headline
  const [, pair, effect] = /^(.+): (.*)$/.exec(headline) ?? []
  if (series.from !== undefined && pair !== undefined)
    return `${effect?.replace('the association limit', 'the limit')}, ${pair}`
  const type = seriesName(series).replace(/^custom properties of /, '')
  const of = `custom properties of ${type}`
  return headline.startsWith(of) ? `custom properties${headline.slice(of.length)}, ${type}` : headline
}

/** `3 critical, 10 warning in 12 accounts`; of a digest that comes every day also what it does not show. */
export function totalOf({ alerts, truncated, totals }: Message['data']): string {
  const firing = (level: Alert['level']) =>
    totals?.[level] ?? alerts.filter((alert) => alert.status === 'firing' && alert.level === level).length
  const counts: [number, string][] = [
    [firing('critical'), 'critical'],
    [firing('warning'), 'warning'],
    [alerts.filter(({ status }) => status === 'resolved').length, 'resolved'],
    [totals === undefined ? truncated : 0, 'more'],
  ]
  const named = counts.flatMap(([count, name]) => (count > 0 ? [`${formatCount(count)} ${name}`] : []))
  const accounts = totals?.accounts ?? accountsIn(alerts)
  if (named.length === 0) return 'nothing is open, all within thresholds'
  return named.join(', ') + (accounts === 0 ? '' : ` in ${countOf(accounts, 'account')}`)
}

export function accountsIn(alerts: readonly Alert[]): number {
  return new Set(alerts.flatMap(({ account }) => account?.hubId ?? [])).size
}

/** Mail programs decode `=?utf-8?q?...?=` wherever it is: a label could so bring back what cleaning took out. */
function shown(text: string, room: number): string {
  return shorten(cleanText(text, 2 * MAX_LENGTH).replaceAll('=?', '= ?'), room)
}
