import { type Alert, byConsequence, isClosed, type Message } from '../../alerts/alert.ts'
import { alertTitle } from '../../alerts/alert-title.ts'
import { countsRecords, limitText, limitWords, nameParts } from '../../alerts/series-name.ts'
import { defined } from '../../runtime/defined.ts'
import { cleanText, shorten } from '../../text/clean-text.ts'
import { capitalized, countOf, formatCount, formatPercent } from '../../text/format-number.ts'
import {
  accountName,
  badgeOf,
  endWithoutRecovery,
  forecastThatCounts,
  headlineOf,
  lastedFor,
  percentOf,
} from './describe-alert.ts'

/** Longest subject that mail programs show, beside the account's name. */
const LONGEST = 60
/** Room for the name of a type or a pair, however long the rest is: without it no one knows which limit it is. */
const LEAST_NAME = 32
/** All of the subject is cleaned: names, effects and causes may come from outside. */
const MAX_LENGTH = 180

/** The subject line: how bad, where, what. How much more there is, and how long it lasted, is never cut off. */
export function subjectLine(message: Message): string {
  const { type, data } = message
  const alerts = data.alerts.toSorted(byConsequence)
  const [first] = alerts
  const badge = `[${badgeOfMessage(message)}] `
  if (type === 'alert.digest') return badge + digestOf(data)
  if (data.account !== undefined) return `${badge}${shown(nameOf(data.account), 100)}: ${type.slice('account.'.length)}`
  // A newer message took over all that it showed.
  if (first === undefined) return `${badge}${countOf(data.truncated, 'more alert')}`
  const account = accountName(first)
  if (account !== undefined && accountsIn(alerts) > 1) return badge + ofSeveral(alerts, first, data.truncated, badge)
  const end = endOf(first, data)
  const room = LONGEST - badge.length - end.length
  // An effect on all accounts names them itself.
  const what =
    account === undefined
      ? shown(headlineOf(first), MAX_LENGTH - badge.length - end.length)
      : `${shown(account, 100)}: ${effectOf(first, room - 2)}`
  return badge + what + end
}

/** `2 of 6 accounts: association limit full, worst acme-01.example.com`: the cause first, the name last, where it may be cut off. */
function ofSeveral(alerts: readonly Alert[], first: Alert, truncated: number, badge: string): string {
  const all = accountsIn(alerts)
  const worst = accountsIn(alerts.filter(({ status, level }) => status === first.status && level === first.level))
  const effect = sharedEffect(first)
  const more = alerts.every((alert) => sharedEffect({ ...first, ...restOf(alert) }) === effect) ? '' : ' and more'
  const name = first.account === undefined || first.status === 'resolved' ? '' : shown(shortName(first.account), 100)
  const before = name === '' ? '' : first.kind === 'limit' ? ', worst ' : ', e.g. '
  const roomBeside = (count: string) => LONGEST - badge.length - count.length - before.length - 2
  const of = `${worst < all ? `${formatCount(worst)} of ` : ''}${countOf(all, 'account')}`
  const accounts = effect.length <= roomBeside(of) ? of : countOf(worst, 'account')
  const count = truncated > 0 ? countOf(alerts.length + truncated, 'alert') : accounts
  const room = roomBeside(count)
  return `${count}: ${shown(effect.length + more.length <= room ? effect + more : effect, room)}${before}${name}`
}

function restOf({ kind, rule, cause, series, because }: Alert): Partial<Alert> {
  return { kind, rule, ...defined({ cause, series, because }) }
}

function nameOf(account: NonNullable<Alert['account']>): string {
  return `${shortName(account)} (${account.hubId})`
}

function shortName({ hubId, hubDomain }: NonNullable<Alert['account']>): string {
  return cleanText(hubDomain, 80) || `account ${hubId}`
}

/** The effect without what differs from account to account, but for how full the worst is. */
function sharedEffect(alert: Alert): string {
  const { kind, series, status } = alert
  const isUnread = kind === 'poll' && status === 'firing'
  const [cause = ''] = (isUnread ? alertTitle(alert) : headlineOf(alert)).split(/, |: /, 1)
  if (kind === 'limit-changed') return 'limit changed'
  if (series === undefined || isClosed(alert)) return cause
  const limit = limitWords(series)
  if (status === 'resolved') return `${limit} ${endWithoutRecovery(alert) ?? 'back to normal'}`
  const percent = percentOf(alert)
  if (countsRecords(series) === 'full' || (percent ?? 0) >= 100) return `${limit} full`
  if (countsRecords(series) === 'near') return `${limit} near`
  return percent === undefined ? limit : `${limit} ${formatPercent(percent)}`
}

export function badgeOfMessage({ type, data }: Message): string {
  if (type === 'alert.digest') return 'DIGEST'
  if (type === 'alert.test') return 'TEST'
  if (type === 'alert.acknowledged') return 'ACKNOWLEDGED'
  if (data.account !== undefined) return 'ACCOUNT'
  const firing = data.alerts.filter(({ status }) => status === 'firing')
  const worst = firing.find(({ level }) => level === 'critical') ?? firing[0]
  if (type === 'alert.resolved') return 'RESOLVED'
  return worst === undefined ? 'WARNING' : badgeOf(worst)
}

function endOf(first: Alert, { alerts, truncated }: Message['data']): string {
  const more = alerts.length - 1 + truncated
  if (more > 0) return ` and ${formatCount(more)} more`
  const lasted = lastedFor(first)
  return lasted === undefined ? '' : ` after ${lasted}`
}

function digestOf(data: Message['data']): string {
  const { period } = data
  return `${period === undefined ? 'First readings' : period === 'week' ? 'Weekly' : 'Daily'}: ${totalOf(data)}`
}

/** `Property Listings, custom properties 99.7 %`: the name of the type or the pair may be cut, the number never is. */
function effectOf(alert: Alert, room: number): string {
  const { series, kind, usage = 0 } = alert
  const percent = percentOf(alert)
  if (series === undefined || kind !== 'limit' || isClosed(alert)) return shown(headlineOf(alert), room)
  if (countsRecords(series)) return shown(limitText(series, alert), Math.max(2 * LEAST_NAME, room))
  const { about, noun } = nameParts(series)
  const number = forecastThatCounts(alert) ?? (percent === undefined ? formatCount(usage) : formatPercent(percent))
  const value = `${noun} ${number}`.trim()
  if (about === '') return shown(capitalized(value), room)
  return `${shown(about, Math.max(LEAST_NAME, room - value.length - 2))}${noun === '' ? '' : ','} ${value}`
}

/** `3 critical, 10 warnings in 12 accounts`; of a digest that comes every day also what it does not show. */
export function totalOf({ alerts, truncated, totals }: Message['data']): string {
  const firing = (level: Alert['level']) =>
    totals?.[level] ?? alerts.filter((alert) => alert.status === 'firing' && alert.level === level).length
  const counts: [number, one: string, many?: string][] = [
    [firing('critical'), 'critical', 'critical'],
    [firing('warning'), 'warning'],
    [alerts.filter(({ status }) => status === 'resolved').length, 'resolved', 'resolved'],
    [totals === undefined ? truncated : 0, 'more', 'more'],
  ]
  const named = counts.flatMap(([count, ...name]) => (count > 0 ? [countOf(count, ...name)] : []))
  const accounts = totals?.accounts ?? accountsIn(alerts)
  if (named.length === 0) return 'no open alerts'
  return named.join(', ') + (accounts === 0 ? '' : ` in ${countOf(accounts, 'account')}`)
}

export function accountsIn(alerts: readonly Alert[]): number {
  return new Set(alerts.flatMap(({ account }) => account?.hubId ?? [])).size
}

/** Cut between words. Mail programs decode `=?utf-8?q?...?=` wherever it is: a label could so bring back what cleaning took out. */
function shown(text: string, room: number): string {
  const whole = cleanText(text, 2 * MAX_LENGTH).replaceAll('=?', '= ?')
  const clean = whole.length > room ? whole.replace(/ \([^()]*\)$/, '') : whole
  const cut = shorten(clean, room)
  if (cut === clean || clean.startsWith(`${cut.slice(0, -1)} `)) return withoutJoint(cut)
  const words = cut.slice(0, Math.max(0, cut.lastIndexOf(' ')))
  return words === '' ? cut : withoutJoint(`${words}…`)
}

/** Drops the words that led to the one that was cut off. */
function withoutJoint(text: string): string {
  return text.endsWith('…') ? text.replace(/(\s*[,:→–-]|\s+(of|is|now))*…$/u, '…') : text
}
