import type { MailBlock, MailContent, MailLine } from './mail-content.ts'

const NAME_WIDTH = 14
const SEPARATOR = `\n\n${'='.repeat(60)}\n\n`

/** The mail as plain text. It has all that the other part has, which shows fullness as a bar, too. */
export function textPart({ sections, footer }: MailContent): string {
  const parts = sections.map((blocks) => blocks.flatMap(blockText).join('\n\n'))
  return `${parts.join(SEPARATOR)}\n\n-- \n${footer}\n`
}

function blockText(block: MailBlock): string | string[] {
  switch (block.is) {
    case 'bar':
      return []
    case 'text':
      return block.text
    case 'headline':
      return `[${block.badge}] ${block.text}\n${block.details}`.trimEnd()
    case 'facts':
      return block.facts.map(({ name, value }) => named(name, value)).join('\n')
    case 'links':
      return block.actions.map(({ name, url }) => named(name, url)).join('\n')
    case 'lines':
      return [block.title ?? [], ...block.lines.map((line) => lineText(line, '  '))].flat().join('\n')
  }
}

function named(name: string, value: string): string {
  return `${name.padEnd(NAME_WIDTH)} ${value}`
}

function lineText({ badge, text, url, below = [] }: MailLine, indent: string): string {
  const mark = badge === undefined ? '' : `[${badge}] `
  const deeper = `${indent}  `
  const address = url === undefined ? [] : [`${deeper}${url}`]
  return [`${indent}${mark}${text}`, ...address, ...below.map((line) => lineText(line, deeper))].join('\n')
}
