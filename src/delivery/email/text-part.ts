import { formatPercent } from '../../text/format-number.ts'
import type { DescribedAlert } from './describe-alert.ts'
import type { MailContent } from './mail-content.ts'

const BAR_WIDTH = 30
const NAME_WIDTH = 11

/** The mail as plain text: nothing in it that the other part has alone. */
export function textPart({ summary, sections, rows, omitted, footer }: MailContent): string {
  const blocks = [
    ...(summary === undefined ? [] : [summary]),
    ...sections.map(sectionText),
    ...(rows.length === 0 ? [] : [rows.map(rowText).join('\n\n')]),
    ...(omitted === undefined ? [] : [omitted]),
    `-- \n${footer}`,
  ]
  return `${blocks.join(sections.length > 1 ? `\n\n${'='.repeat(60)}\n\n` : '\n\n')}\n`
}

function sectionText({ badge, subject, happened, percent, facts, records, url }: DescribedAlert): string {
  const parts = [`[${badge}] ${subject}\n${happened}`]
  if (percent !== undefined) parts.push(bar(percent))
  if (facts.length > 0) parts.push(facts.map(({ name, value }) => `${name.padEnd(NAME_WIDTH)}${value}`).join('\n'))
  if (records !== undefined) {
    const lines = records.rows.map(({ label, id, usage }) =>
      [...(label === undefined ? [] : [label]), `#${id}`, usage].map((cell) => `  ${cell}`).join(''),
    )
    parts.push([`Records (${records.note})`, ...lines].join('\n'))
  }
  if (url !== undefined) parts.push(url)
  return parts.join('\n\n')
}

function rowText({ badge, subject, headline, url }: DescribedAlert): string {
  return [`[${badge}] ${subject}`, `  ${headline}`, ...(url === undefined ? [] : [`  ${url}`])].join('\n')
}

/** Full only at 100 %, empty only at 0. */
function bar(percent: number): string {
  const share = Math.min(Math.max(percent, 0), 100) / 100
  const filled = share > 0 ? Math.max(1, Math.floor(share * BAR_WIDTH)) : 0
  return `${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)} ${formatPercent(percent)}`
}
