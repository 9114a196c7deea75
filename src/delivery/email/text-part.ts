import { formatPercent } from '../../text/format-number.ts'
import { barOf } from './bar.ts'
import type { DescribedAlert } from './describe-alert.ts'
import type { DescribedRecords } from './describe-records.ts'
import type { DescribedRow, MailContent } from './mail-content.ts'

const BAR_WIDTH = 30
const NAME_WIDTH = 13

/** The mail as plain text: nothing in it that the other part has alone. */
export function textPart({ summary, sections, rows, omitted, csv, footer }: MailContent): string {
  const blocks = [
    ...(summary === undefined ? [] : [summary]),
    ...sections.map(sectionText),
    ...(rows.length === 0 ? [] : [rows.map(rowText).join('\n\n')]),
    ...(omitted === undefined ? [] : [omitted]),
    ...(csv === undefined ? [] : [`Attached as a table: ${csv.filename}`]),
    `-- \n${footer}`,
  ]
  return `${blocks.join(sections.length > 1 ? `\n\n${'='.repeat(60)}\n\n` : '\n\n')}\n`
}

function sectionText(alert: DescribedAlert): string {
  const { badge, subject, happened, percent, facts, records } = alert
  const parts = [`[${badge}] ${subject}\n${happened}`]
  if (percent !== undefined) parts.push(bar(percent))
  if (facts.length > 0) parts.push(facts.map(({ name, value }) => named(name, value)).join('\n'))
  if (records !== undefined) parts.push(recordsText(records))
  const links = linksText(alert)
  if (links !== '') parts.push(links)
  return parts.join('\n\n')
}

function recordsText({ note, rows, left }: DescribedRecords): string {
  const lines = rows.flatMap(({ label, id, usage, isNew, url }) => [
    [...(label === undefined ? [] : [label]), `#${id}`, usage, ...(isNew ? ['new'] : [])]
      .map((cell) => `  ${cell}`)
      .join(''),
    ...(url === undefined ? [] : [`    ${url}`]),
  ])
  return [`Records (${note})`, ...lines, ...(left === undefined ? [] : [left])].join('\n')
}

function linksText({ url, acknowledgeUrl, silence }: DescribedAlert): string {
  return [
    ...(acknowledgeUrl === undefined ? [] : [named('Acknowledge', acknowledgeUrl)]),
    ...(url === undefined ? [] : [named('Page', url)]),
    ...(silence === undefined ? [] : [named('Silence', silence)]),
  ].join('\n')
}

function named(name: string, value: string): string {
  return `${name.padEnd(NAME_WIDTH)}${value}`
}

function rowText({ badge, subject, headline, daysLeft, sinceLast, url }: DescribedRow): string {
  const left = daysLeft === undefined || daysLeft === 'full' || headline.includes(daysLeft) ? '' : `, ${daysLeft} left`
  const moved = sinceLast === undefined ? '' : ` (${sinceLast})`
  return [`[${badge}]${moved} ${subject}`, `  ${headline}${left}`, ...(url === undefined ? [] : [`  ${url}`])].join(
    '\n',
  )
}

function bar(percent: number): string {
  const { filled, over, empty } = barOf(percent, BAR_WIDTH)
  const beyond = over === 0 ? '' : `┃${'█'.repeat(over)}`
  return `${'█'.repeat(filled)}${beyond}${'░'.repeat(empty)} ${formatPercent(percent)}`
}
