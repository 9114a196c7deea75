import { type Html, html } from './html.ts'

/** Target of a link of a document; undefined where there is nothing to link to. */
export type LinkTo = (address: string) => string | undefined

/** Our own documents as HTML: headings, paragraphs, lists, tables and fenced code, which is all that they use. */
export function renderMarkdown(markdown: string, linkTo: LinkTo): Html {
  const text = markdown.replaceAll(/^<!--[\s\S]*?-->$/gm, '')
  const fences = [...text.matchAll(/^( *)```\w*\n([\s\S]*?)^ *```$/gm)]
  const ends = [0, ...fences.map(({ 0: fence, index }) => index + fence.length)]
  const parts = fences.map(({ index, 1: indent = '', 2: code = '' }, n) => {
    const lines = code.replaceAll(new RegExp(`^${indent}`, 'gm'), '')
    return html`${prose(text.slice(ends[n], index), linkTo)}<pre tabindex="0"><code>${lines}</code></pre>\n`
  })
  return html`${parts}${prose(text.slice(ends.at(-1)), linkTo)}`
}

/** The name of a heading, as GitHub makes it. */
export function anchorOf(heading: string): string {
  const words = heading.toLowerCase().replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
  return words
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-')
}

function prose(text: string, linkTo: LinkTo): Html {
  const blocks = text.split(/\n(?: *\n)+|(?<=^#+ .*)\n/m).map((one) => one.trim())
  let heading = 'Table'
  return html`${blocks
    .filter((one) => one !== '')
    .map((one) => {
      heading = /^#+ (.*)$/.exec(one)?.[1] ?? heading
      return html`${one.startsWith('|') ? tableOf(heading, one, linkTo) : block(one, linkTo)}\n`
    })}`
}

function block(text: string, linkTo: LinkTo): Html {
  const [, marks = '', heading = ''] = /^(#+) (.*)$/.exec(text) ?? []
  const inner = inline(marks === '' ? text : heading, linkTo)
  switch (marks.length) {
    case 0:
      break
    case 1:
      return html`` // The page shows it itself.
    case 2:
      return html`<h2 id="${anchorOf(heading)}">${inner}</h2>`
    case 3:
      return html`<h3 id="${anchorOf(heading)}">${inner}</h3>`
    default:
      return html`<h4 id="${anchorOf(heading)}">${inner}</h4>`
  }
  if (text.startsWith('- ')) return html`<ul>${itemsOf(text, linkTo)}</ul>`
  const [, first] = /^(\d+)\. /.exec(text) ?? []
  return first === undefined ? html`<p>${inner}</p>` : html`<ol start="${first}">${itemsOf(text, linkTo)}</ol>`
}

function itemsOf(text: string, linkTo: LinkTo): Html[] {
  return text
    .split(/^(?:- |\d+\. )/m)
    .slice(1)
    .map((item) => html`<li>${inline(item, linkTo)}</li>\n`)
}

/** Named by the heading above it. */
function tableOf(name: string, text: string, linkTo: LinkTo): Html {
  const [heads = [], , ...rows] = text.split('\n').map(cellsOf)
  const cells = (row: string[]) =>
    row.map((cell, n) => html`<td data-label="${heads[n]}"><div>${inline(cell, linkTo)}</div></td>`)
  return html`<table aria-label="${name}"><thead><tr>${heads.map((head) => html`<th scope="col">${inline(head, linkTo)}</th>`)}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${cells(row)}</tr>\n`)}</tbody></table>`
}

/** A bar within code ends no cell. */
function cellsOf(line: string): string[] {
  const cells = line.split(/\|(?=(?:[^`]*`[^`]*`)*[^`]*$)/).slice(1, -1)
  return cells.map((cell) => cell.trim())
}

/** `code`, **strong** and [links](to). */
function inline(text: string, linkTo: LinkTo): Html {
  const [before = '', ...rest] = text.split(/(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\([^)\s]+\))/)
  const plain = (part: string) => part.replaceAll(/\\([*_|<>])/g, '$1')
  return html`${plain(before)}${rest.map((part, n) => (n % 2 === 0 ? marked(part, linkTo) : html`${plain(part)}`))}`
}

function marked(part: string, linkTo: LinkTo): Html {
  if (part.startsWith('`')) return html`<code>${part.slice(1, -1)}</code>`
  if (part.startsWith('**')) return html`<strong>${inline(part.slice(2, -2), linkTo)}</strong>`
  const [, shown = '', address = ''] = /^\[([^\]]+)\]\(([^)]+)\)$/.exec(part) ?? []
  const to = linkTo(address)
  return to === undefined ? inline(shown, linkTo) : html`<a href="${to}">${inline(shown, linkTo)}</a>`
}
