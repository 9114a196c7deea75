import { formatPercent } from '../../../text/format-number.ts'
import { changesBlock } from '../../describe/describe-changes.ts'
import type { DescribedRecords } from '../../describe/describe-records.ts'
import { RECONNECT } from '../../describe/mail-links.ts'
import type { ListedAlert, MailContent } from './mail-content.ts'

const BAR_WIDTH = 30
const NAME_WIDTH = 14

/** The mail as plain text: nothing in it that the other part has alone. */
export function textPart(content: MailContent): string {
  const { own, changes, summary, overview, sections, rows, omitted, footer } = content
  const end = `-- \n${footer}`
  if (own !== undefined) return `${own}\n\n${end}\n`
  const blocks = [
    summary === undefined ? [] : [summary, overview.map(overviewText)].flat().join('\n'),
    sections.map(sectionText),
    rows.length === 0 ? [] : rows.map(rowText).join('\n').trimStart(),
    omitted ?? [],
    changes === undefined ? [] : changesBlock(changes),
  ].flat()
  return `${blocks.join(sections.length > 1 ? `\n\n${'='.repeat(60)}\n\n` : '\n\n')}\n\n${end}\n`
}

function overviewText({ badge, line, url }: MailContent['overview'][number]): string {
  return `[${badge}] ${line}${url === undefined ? '' : `\n  ${url}`}`
}

function sectionText(alert: ListedAlert): string {
  const { badge, heading, headline, details, percent, facts, records, actions } = alert
  const named = (name: string, value: string) => `${name.padEnd(NAME_WIDTH)} ${value}`
  const parts = [
    heading ?? [],
    `[${badge}] ${headline}.${details === '' ? '' : `\n${details}`}`,
    percent === undefined ? [] : barText(percent),
    facts.map(({ name, value }) => named(name, value)).join('\n'),
    records === undefined ? [] : recordsText(records),
    actions.map(({ name, url }) => named(name, url)).join('\n'),
  ].flat()
  return parts.filter((part) => part !== '').join('\n\n')
}

function recordsText({ note, rows, left }: DescribedRecords): string {
  const lines = rows.flatMap(({ label, id, usage, isNew, url }) => [
    [label ?? [], `#${id}`, usage, isNew ? 'new' : []]
      .flat()
      .map((cell) => `  ${cell}`)
      .join(''),
    url === undefined ? [] : `    ${url}`,
  ])
  return [`Records (${note})`, ...lines.flat(), left ?? []].flat().join('\n')
}

function rowText({ badge, heading, headline, daysLeft, url, actions }: ListedAlert): string {
  const isShown = daysLeft === undefined || daysLeft === '0' || headline.includes(daysLeft)
  const reconnect = actions.flatMap(({ name, url }) => (name === RECONNECT ? [`\n    ${name}: ${url}`] : []))
  const line = `  [${badge}] ${headline}${isShown ? '' : `, ${daysLeft} left`}${reconnect.join('')}`
  return heading === undefined ? line : [`\n${heading}`, url === undefined ? [] : `  ${url}`, line].flat().join('\n')
}

function barText(percent: number): string {
  const { filled, over, empty } = barOf(percent, BAR_WIDTH)
  const beyond = over === 0 ? '' : `┃${'█'.repeat(over)}`
  return `${'█'.repeat(filled)}${beyond}${'░'.repeat(empty)} ${formatPercent(percent)}`
}

/** A bar of fullness in parts of its width: up to the limit, and beyond, which moves the limit's mark in from the end. */
interface Bar {
  filled: number
  over: number
  empty: number
}

/** Full only at 100 %, empty only at 0; over only where usage is over the limit. */
export function barOf(percent: number, width = 100): Bar {
  if (percent > 100) {
    const filled = Math.min(width - 1, Math.max(1, Math.floor((100 / percent) * width)))
    return { filled, over: width - filled, empty: 0 }
  }
  const filled = percent > 0 ? Math.max(1, Math.floor((percent / 100) * width)) : 0
  return { filled, over: 0, empty: width - filled }
}
