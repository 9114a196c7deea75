import { type FleetChanges, inOrder, type Message } from '../../alerts/alert.ts'
import { shorten } from '../../text/clean-text.ts'
import { countOf } from '../../text/format-number.ts'
import { type Badge, describeAlert, type MailFact } from './describe-alert.ts'
import { changesBlock, describeChanges } from './describe-changes.ts'
import { type Action, type MailLinks, RECONNECT } from './mail-links.ts'
import { subjectLine } from './subject.ts'

const MOST_LISTED = 10
const MOST_LINE = 250
const MOST_CHANGES = 2_000

const MARK: Record<Badge, string> = { CRITICAL: '🔴', WARNING: '🟠', RESOLVED: '🟢', TEST: '⚪' }

/** One message in a few words, for services that show little. Nothing is escaped. */
export interface Outline {
  subject: string
  parts: OutlinePart[]
  /** Changes since the last digest, always shown. */
  changes: OutlinePart[]
  /** Alerts that the message itself leaves out. */
  truncated: number
}

/** One account, an alert that is alone, or changes (of no alerts). */
export interface OutlinePart {
  alerts: number
  lines: string[]
  facts: MailFact[]
  actions: Action[]
}

export function outlineOf(message: Message, links: MailLinks): Outline {
  const { timestamp, data } = message
  const { changed, truncated } = data
  const subject = subjectLine(message)
  const byAccount = Map.groupBy(inOrder(message), ({ account }) => account?.hubId)
  const parts = [...byAccount].map(([hubId, own]) => {
    const described = own.map((alert) => describeAlert(alert, Date.parse(timestamp), links))
    const [one, ...others] = described
    const isAlone = byAccount.size === 1 && others.length === 0
    return isAlone && one !== undefined ? wholePart(one, subject) : accountPart(described, byAccount.size > 1, hubId)
  })
  const changes =
    changed === undefined ? [] : [{ alerts: 0, lines: changeLines(changed, links), facts: [], actions: [] }]
  return { subject, parts, changes, truncated }
}

type Described = ReturnType<typeof describeAlert>

function changeLines(changed: FleetChanges, links: MailLinks): string[] {
  const lines = shorten(changesBlock(describeChanges(changed, links.changes)), MOST_CHANGES).split('\n')
  return lines.filter(Boolean).map((line) => line.replace(/^ +/, '• '))
}

/** The subject has the headline already, unless that was too long for it. */
function wholePart(one: Described, subject: string): OutlinePart {
  const { headline, details, happened, percent, records, actions } = one
  const told = percent === undefined && !subject.includes(headline) ? happened : details
  const rows = (records?.rows ?? [])
    .slice(0, MOST_LISTED)
    .map(({ label, id, usage }) => ['•', label ?? [], `#${id}`, usage].flat().join(' '))
  const facts = one.facts.map(({ name, value }) => ({ name, value: shorten(value, MOST_LINE) }))
  const lines = [told === '' ? [] : told, records ? `Records (${records.note})` : [], rows].flat()
  return { alerts: 1, lines, facts, actions }
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
  return { alerts: own.length, lines: [...(isNamed ? [subject] : []), ...more, ...toDo], facts, actions }
}

/** The first parts, as many as fit; `render` also gets the number of alerts that are left out. */
export function fitted<T>(
  { parts, changes, truncated }: Outline,
  render: (shown: readonly OutlinePart[], left: number) => T,
  fits: (rendered: T) => boolean,
): T {
  const total = parts.reduce((sum, { alerts }) => sum + alerts, truncated)
  const renderFirst = (count: number) => {
    const shown = parts.slice(0, count)
    return render(
      [...shown, ...changes],
      shown.reduce((left, { alerts }) => left - alerts, total),
    )
  }
  let [least, most] = [0, parts.length]
  while (least < most) {
    const middle = Math.ceil((least + most) / 2)
    if (fits(renderFirst(middle))) least = middle
    else most = middle - 1
  }
  const [first] = parts
  if (least > 0 || first === undefined) return renderFirst(least)
  // Too large even alone: what happened, and where the rest is.
  const short = { ...first, lines: first.lines.slice(0, 1), facts: first.facts.slice(0, 3) }
  const rendered = render([short], total - first.alerts)
  return fits(rendered) ? rendered : renderFirst(0)
}

/** The message below its subject as plain text, with as many parts as fit. */
export function outlineText(outline: Outline, home: string, fits: (text: string) => boolean): string {
  const render = (shown: readonly OutlinePart[], left: number) => {
    const more = left === 0 ? [] : [`${countOf(left, 'more alert')} not shown: ${home}`]
    return [...shown.map(partText), ...more].join('\n\n')
  }
  return fitted(outline, render, fits) || outline.subject
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
