import type { BrowserPages, Visited } from './browser-pages.ts'

export interface CrawledPage {
  path: string
  status: number
  /** What a reader sees, opened up. */
  text: string
  /** Everything that is wrong with it. */
  faults: string[]
}

/** How many pages of one shape are visited: all accounts and alerts, but of each series and range only some. */
const mostOf = (shape: string) => (/\?(account)?$/.test(shape) ? 60 : 12)

/** Follows every link of the same origin from `from` on, as long as it leads to a page. */
export async function crawl(
  pages: BrowserPages,
  from: readonly string[],
  { skip }: { skip: RegExp },
): Promise<CrawledPage[]> {
  const waiting = [...from]
  const seen = new Set(from)
  const shapes = new Map<string, number>()
  const crawled: CrawledPage[] = []
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    const visited = await pages.visit(path)
    crawled.push({ path, ...(await look(visited)) })
    for (const link of await linksOf(visited)) {
      const shape = shapeOf(link)
      if (seen.has(link) || skip.test(link) || (shapes.get(shape) ?? 0) >= mostOf(shape)) continue
      seen.add(link)
      shapes.set(shape, (shapes.get(shape) ?? 0) + 1)
      waiting.push(link)
    }
  }
  return crawled
}

/** Runs in the page: what it shows, and whatever of it our own markup never has. */
const LOOK = `(() => {
  for (const details of document.querySelectorAll('details')) details.open = true
  const odd = []
  for (const element of document.querySelectorAll('*')) {
    for (const { name, value } of element.attributes) {
      if (name.startsWith('on') || name === 'style' || name === 'srcdoc') odd.push(element.localName + ' has ' + name + '=' + value)
      const isAddress = ['href', 'src', 'action', 'formaction', 'xlink:href'].includes(name)
      if (isAddress && /^\\s*(javascript|data|vbscript):/i.test(value)) odd.push(element.localName + ' has ' + name + '=' + value)
    }
    const isHere = (address) => new URL(address, location.href).origin === location.origin
    const isData = /json|plain/.test(element.getAttribute('type') ?? '')
    if (element.localName === 'script' && !isData && (element.src === '' || !isHere(element.src))) odd.push('a script of its own')
    if (element.localName === 'base' && !isHere(element.href)) odd.push('a base')
    if (['iframe', 'object', 'embed', 'img'].includes(element.localName)) odd.push('a ' + element.localName)
  }
  if (window.ran !== undefined || document.title === 'ran') odd.push('a script ran')
  // What hides or reorders the words around it, or ends a line that is none of ours. What a field holds is sent back as it is.
  const attributes = [...document.querySelectorAll('*')].flatMap((element) => [...element.attributes])
  const shown = attributes.filter(({ name }) => name !== 'value').map(({ value }) => value).join(' ') + document.documentElement.textContent
  const found = /[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u2028-\\u202e\\u2066-\\u2069]/.exec(shown)
  if (found !== null) odd.push('the character ' + found[0].codePointAt(0).toString(16))
  return { odd, text: document.body.innerText + ' ' + document.title }
})()`

async function look({ page, status, faults }: Visited): Promise<Omit<CrawledPage, 'path'>> {
  const { odd, text } = (await page.evaluate(LOOK)) as { odd: string[]; text: string }
  return { status, text, faults: [...faults, ...odd] }
}

async function linksOf({ page }: Visited): Promise<string[]> {
  const links = (await page.evaluate(`[...document.querySelectorAll('a[href]')]
    .map((link) => new URL(link.href)).filter((url) => url.origin === location.origin)
    .map((url) => url.pathname + url.search)`)) as string[]
  return [...new Set(links)]
}

/** Pages that differ by a number, or by what a query asks for, are of one shape. */
function shapeOf(link: string): string {
  const { pathname, searchParams } = new URL(link, 'http://here.invalid')
  return `${pathname.replace(/\b(\d+|[0-9a-f]{8,})\b/g, 'N')}?${[...searchParams.keys()].sort().join('&')}`
}
