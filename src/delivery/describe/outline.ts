import { type FleetChanges, inOrder, type Message } from '../../alerts/alert.ts'
import { shorten } from '../../text/clean-text.ts'
import { countOf } from '../../text/format-number.ts'
import { type Badge, describeAlert, type MailFact } from './describe-alert.ts'
import { changeLine, describeChanges } from './describe-changes.ts'
import { cutToFit, fitAlerts } from './fit-alerts.ts'
import { type Action, type MailLinks, RECONNECT } from './mail-links.ts'
import { subjectLine } from './subject.ts'

const MOST_LISTED = 10
const MOST_LINE = 250
const MOST_CHANGES = 2_000

const MARK: Record<Badge, string> = { CRITICAL: '🔴', WARNING: '🟠', RESOLVED: '🟢', TEST: '⚪' }

/** One account, an alert that is alone, or changes (of no alerts). */
export interface OutlinePart {
  lines: string[]
  facts: MailFact[]
  actions: Action[]
}

/** One message in a few words, for services that show little; changes since the last digest come last. Nothing is escaped. */
export function outlineOf(message: Message, links: MailLinks): OutlinePart[] {
  const { timestamp, data } = message
  const byAccount = Map.groupBy(inOrder(message), ({ account }) => account?.hubId)
  const parts = [...byAccount].map(([hubId, own]) => {
    const described = own.map((alert) => describeAlert(alert, Date.parse(timestamp), links))
    const [one, ...others] = described
    const isAlone = byAccount.size === 1 && others.length === 0
    return isAlone && one !== undefined
      ? wholePart(one, subjectLine(message))
      : accountPart(described, byAccount.size > 1, hubId)
  })
  if (data.changed !== undefined) parts.push({ lines: changeLines(data.changed, links), facts: [], actions: [] })
  return parts
}

type Described = ReturnType<typeof describeAlert>

function changeLines(changed: FleetChanges, links: MailLinks): string[] {
  const { line, groups, more, note = [] } = describeChanges(changed, links.changes)
  const listed = groups.flatMap(({ title, accounts }) => [title, ...accounts.map((one) => `• ${changeLine(one)}`)])
  return shorten([line, ...listed, more, note].flat().join('\n'), MOST_CHANGES).split('\n')
}

/** The subject has the headline already, unless that was too long for it. */
function wholePart(one: Described, subject: string): OutlinePart {
  const { headline, details, happened, percent, records, actions } = one
  const told = percent === undefined && !subject.includes(headline) ? happened : details
  const rows = (records?.rows ?? [])
    .slice(0, MOST_LISTED)
    .map(({ label, id, usage }) => ['•', label ?? [], `#${id}`, usage].flat().join(' '))
  const facts = one.facts.map(({ name, value }) => ({ name, value: shorten(value, MOST_LINE) }))
  if (records !== undefined) facts.push({ name: `Records (${records.note})`, value: rows.join('\n') })
  return { lines: told === '' ? [] : [told], facts, actions }
}

/** One account: its alerts a field each, what to do about the worst, and its page. */
function accountPart(own: readonly Described[], isNamed: boolean, hubId: number | undefined): OutlinePart {
  const facts = own.slice(0, MOST_LISTED).map(({ badge, topic, numbers }) => ({
    name: shorten(`${MARK[badge]} ${topic}`, MOST_LINE),
    value: numbers,
  }))
  const more = own.length > facts.length ? [countOf(own.length - facts.length, 'more alert')] : []
  const { subject = '', url, facts: known = [] } = own[0] ?? {}
  const toDo = known.filter(({ name }) => name === 'To do').map(({ name, value }) => `${name}: ${value}`)
  const actions = own.flatMap((one) => one.actions.filter(({ name }) => name === RECONNECT)).slice(0, 1)
  if (url !== undefined) actions.unshift({ name: hubId === undefined ? 'Open page' : 'Open account', url })
  return { lines: [...(isNamed ? [subject] : []), ...more, ...toDo], facts, actions }
}

/** The message below its subject as plain text, with as many alerts as fit. */
export function outlineText(message: Message, links: MailLinks, home: string, fits: (text: string) => boolean): string {
  const make = (shown: Message) => {
    const left = shown.data.truncated
    const more = left === 0 ? [] : [`${countOf(left, 'more alert')} not shown: ${home}`]
    return [...outlineOf(shown, links).map(partText), ...more].join('\n\n')
  }
  return cutToFit(fitAlerts(message, make, fits, 1), fits) || subjectLine(message)
}

function partText({ lines, facts, actions }: OutlinePart): string {
  const named = facts.map(({ name, value }) => `${name}${name.includes(': ') ? ',' : ':'} ${value}`)
  return [...lines, ...named, ...actions.map(({ name, url }) => `${name}: ${url}`)].join('\n')
}

/** For services that read markup everywhere: an address, a mention or a sign of markup becomes a lookalike. */
export function withoutMarkup(text: string): string {
  return (
    text
      .replaceAll('://', ':∕∕')
      .replaceAll('](', '] (')
      // Within a word an underscore is no markup: a code can be searched for.
      .replace(/[@*~`<>\\]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, (sign) => LOOKALIKES[sign] ?? sign)
  )
}

const LOOKALIKES: Record<string, string> = {
  '@': '＠',
  '*': '∗',
  _: 'ˍ',
  '~': '∼',
  '`': 'ˋ',
  '<': '‹',
  '>': '›',
  '\\': '＼',
}
