import * as z from 'zod'
import { Secret, withoutSecrets } from '../../runtime/secret.ts'
import { cleanText } from '../../text/clean-text.ts'

const MOST_WORDS = 160
/** Shorter parts of an address are ordinary words too often. */
const SHORTEST_PART = 6
const SHORTEST_HALF = 8
const LONGEST_WORD = 12

export interface Words {
  /** The service's own words: one line, without secrets. */
  says: string
  /** An HTML page: a firewall's or a proxy's, never an answer of an API. */
  isPage: boolean
  /** The service says in its body that it did not do what was asked, whatever the status. */
  saysNo: boolean
}

const text = z.union([z.string(), z.number()]).optional().catch(undefined)
const answerShape = z.object({
  code: text,
  description: text,
  error_description: text,
  message: text,
  detail: text,
  error: z
    .union([z.string(), z.object({ code: text, message: text })])
    .optional()
    .catch(undefined),
  errors: z.array(z.string()).optional().catch(undefined),
  ok: z.boolean().optional().catch(undefined),
  success: z.boolean().optional().catch(undefined),
})

export function readWords(body: string, secrets: readonly Secret[]): Words {
  // No service answers with markup of its own.
  const isPage = /^\s*</.test(body)
  const answer = isPage ? undefined : parsed(body)
  const words = isPage ? pageTitle(body) : answer === undefined ? body : wordsOf(answer)
  // Secrets go before the text is cut, and once more when what hides between the letters is gone.
  const says = withoutSecrets(cleanText(withoutSecrets(words, ...secrets), MOST_WORDS), ...secrets)
  return { says, isPage, saysNo: answer?.ok === false || answer?.success === false }
}

function parsed(body: string) {
  try {
    return answerShape.safeParse(JSON.parse(body)).data
  } catch {
    return undefined
  }
}

function wordsOf(answer: z.output<typeof answerShape>): string {
  const { code, description, error_description, message, detail, error, errors = [] } = answer
  const own = typeof error === 'object' ? [error.code, error.message] : [error]
  const words = [code, ...own, error_description, description, message, detail, ...errors].filter(
    (word) => word !== undefined && word !== '',
  )
  return [...new Set(words)].join(': ')
}

function pageTitle(body: string): string {
  const [, title = ''] = /<title[^>]*>([^<]*)/i.exec(body) ?? []
  return title.trim() === '' ? 'a page of a firewall or proxy' : `a page of a firewall or proxy: ${title}`
}

/** Parts of a secret address that an answer may repeat. */
export function secretsInAddress(url: URL, password = ''): Secret[] {
  const parts = [...url.pathname.split('/'), ...url.searchParams.values()].filter(
    (part) => part.length >= LONGEST_WORD || (part.length >= SHORTEST_PART && !/^[a-z]+$/.test(part)),
  )
  const path = url.pathname + url.search
  return [url.href, ...(path === '/' ? [] : [path]), ...parts, password].map((part) => new Secret(part))
}

/** Also the halves of `Bearer KEY` and `USER:KEY`. */
export function withHalves(secrets: readonly Secret[]): Secret[] {
  return secrets.flatMap((secret) => {
    const halves = secret.reveal().split(/[\s:]+/)
    return [secret, ...halves.filter(({ length }) => length >= SHORTEST_HALF).map((half) => new Secret(half))]
  })
}
