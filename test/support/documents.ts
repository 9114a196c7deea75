import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const ROOT = new URL('../../', import.meta.url).pathname

/** A Markdown file of the repository. */
export interface Document {
  /** From the root: `config/guide/operation.md`. */
  path: string
  text: string
}

/** A fenced block: what it is in (`sh`, `yaml` ...), under which heading it stands, and its lines without their indent. */
export interface Block {
  path: string
  kind: string
  heading: string
  text: string
}

const NOT_OURS = new Set(['node_modules', 'dist', 'coverage'])

/** All of them, but what packages bring along. */
export function readDocuments(): Document[] {
  return foldersFrom('')
    .flatMap((folder) => namesIn(folder).filter((name) => name.endsWith('.md')))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))
}

/** Every folder that is ours, from the root: '' is the root itself. */
function foldersFrom(folder: string): string[] {
  const inner = readdirSync(join(ROOT, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && !NOT_OURS.has(entry.name))
    .flatMap(({ name }) => foldersFrom(join(folder, name)))
  return [folder, ...inner]
}

function namesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder)).map((name) => join(folder, name))
}

export function blocksOf({ path, text }: Document): Block[] {
  return [...text.matchAll(/^( *)```(\w*)\n([\s\S]*?)^ *```$/gm)].map(
    ({ index, 1: indent = '', 2: kind = '', 3: inside = '' }) => ({
      path,
      kind,
      heading: [...text.slice(0, index).matchAll(/^#+ (.*)$/gm)].at(-1)?.[1] ?? '',
      text: inside.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    }),
  )
}

/** The text outside of fenced blocks. */
export function proseOf({ text }: Document): string {
  return text.replaceAll(/^( *)```\w*\n[\s\S]*?^ *```$/gm, '')
}

/** What stands `like this` in the text. */
export function codeOf(document: Document): string[] {
  return [...proseOf(document).matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code)
}

/** The names by which a link may point into a document, as GitHub makes them of headings. */
export function anchorsOf(document: Document): string[] {
  const seen = new Map<string, number>()
  return [...proseOf(document).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => {
    const slug = heading
      .toLowerCase()
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(' ', '-')
    const before = seen.get(slug) ?? 0
    seen.set(slug, before + 1)
    return before === 0 ? slug : `${slug}-${before}`
  })
}

/** The commands of a block, one each: without comments, a here-document with its lines. */
export function commandsOf({ text }: Block): string[] {
  const commands: string[] = []
  let end: string | undefined
  for (const line of text.replaceAll('\\\n', ' ').split('\n')) {
    if (end !== undefined) {
      commands.push(`${commands.pop()}\n${line}`)
      if (line === end) end = undefined
    } else {
      const command = line.replace(/(^|\s+)# .*$/, '').trim()
      if (command !== '') commands.push(command)
      end = /<<-?'?(\w+)'?/.exec(command)?.[1]
    }
  }
  return commands
}
