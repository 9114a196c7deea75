import { parse } from 'csv-parse/sync'
import { isMailbox } from '../runtime/mailbox.ts'
import { Secret } from '../runtime/secret.ts'
import { cellAsWritten } from '../text/csv.ts'

/**
 * Accounts in a file, as `accounts export` writes it and other tools can: CSV with a header, or one JSON object a line.
 * One account a line in both, so that a quote that is never closed spoils its own line and no more.
 */
export interface AccountRow {
  hubId: number
  /** In clear text, or as another installation with the same key stored it. */
  token: { is: 'clear'; value: Secret } | { is: 'sealed'; value: Buffer }
  hubDomain: string
  user: string
  contact?: string
  /** ms, or null. */
  connectedAt: number | null
}

/** A line of the file: its account, or its fault - in words that never repeat the line's content. */
export type ReadLine = { line: number } & ({ row: AccountRow } | { problem: string })

/** The file as a whole can't be read: nothing of it is imported. */
export class UnreadableFileError extends Error {}

/** Columns of a row. `state` is that of the export: it is ignored here. */
const COLUMNS = [
  ...(['hubId', 'hubDomain', 'state', 'user', 'contact', 'connectedAt'] as const),
  ...(['refreshToken', 'sealedRefreshToken'] as const),
] as const
const WANTED = 'hubId, refreshToken (or sealedRefreshToken) and, if you have it, hubDomain'

type Fields = Partial<Record<(typeof COLUMNS)[number], string>>

/** No token is longer; a file without line ends must not fill the memory. */
const LONGEST_LINE = 20_000

/** Reads a file as it comes, a line at a time. Throws UnreadableFileError for one that is no list of accounts at all. */
export async function* readRows(bytes: AsyncIterable<Buffer>, fileName: string): AsyncGenerator<ReadLine> {
  let fieldsOf: ((text: string) => Fields | string) | undefined
  for await (const { line, text } of linesOf(bytes)) {
    if (text?.trim() === '') continue
    if (fieldsOf === undefined) {
      if (text === undefined) throw new UnreadableFileError('its first line is too long to be a list of accounts')
      const isJson = text.trimStart().startsWith('{') || /\.(jsonl|ndjson|json)$/i.test(fileName)
      fieldsOf = isJson ? jsonFields : csvFields(columnsOf(text))
      if (!isJson) continue
      if (text.trimStart().startsWith('[')) {
        throw new UnreadableFileError('it is a JSON list: one object a line is wanted, without brackets and commas')
      }
    }
    const fields = text === undefined ? 'is too long' : fieldsOf(text)
    const row = typeof fields === 'string' ? fields : rowOf(fields)
    yield typeof row === 'string' ? { line, problem: row } : { line, row }
  }
  if (fieldsOf === undefined) throw new UnreadableFileError('it is empty')
}

/** Lines by their number in the file, from 1; `text` is undefined for one that is too long. */
async function* linesOf(bytes: AsyncIterable<Buffer>): AsyncGenerator<{ line: number; text: string | undefined }> {
  const decoder = new TextDecoder() // Takes a byte order mark away.
  let line = 0
  let rest = ''
  let isTooLong = false
  for await (const chunk of bytes) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = parts.pop() ?? ''
    for (const part of parts) {
      yield { line: ++line, text: isTooLong || part.length > LONGEST_LINE ? undefined : part }
      isTooLong = false
    }
    if (rest.length > LONGEST_LINE) {
      isTooLong = true
      rest = ''
    }
  }
  rest += decoder.decode()
  if (rest !== '' || isTooLong) yield { line: ++line, text: isTooLong ? undefined : rest }
}

function columnsOf(header: string): string[] {
  const columns = splitCsv(header)
  if (columns === undefined) throw new UnreadableFileError(`its first line is no CSV header: ${WANTED}`)
  for (const [index, column] of columns.entries()) {
    if ((COLUMNS as readonly string[]).includes(column)) continue
    if (/^\d+$/.test(column)) throw new UnreadableFileError(`its first line is no header: it takes ${WANTED}`)
    const name = nameOf(column) ?? `number ${index + 1}`
    throw new UnreadableFileError(`its header has the column ${name}, which is not known: it takes ${WANTED}`)
  }
  if (new Set(columns).size < columns.length) throw new UnreadableFileError('its header has a column twice')
  if (!columns.includes('hubId')) throw new UnreadableFileError(`its header has no column hubId: it takes ${WANTED}`)
  const tokens = columns.filter((column) => /refreshToken$/i.test(column))
  if (tokens.length !== 1) {
    throw new UnreadableFileError('its header must have one of the columns refreshToken and sealedRefreshToken')
  }
  return columns
}

/**
 * With columns mixed up, or the header forgotten, a token may be there: only text with the form of a name is repeated.
 */
function nameOf(text: string): string | undefined {
  return /^[A-Za-z][A-Za-z_ ]{0,24}$/.test(text) ? text : undefined
}

function csvFields(columns: readonly string[]): (text: string) => Fields | string {
  return (text) => {
    const values = splitCsv(text)
    if (values === undefined) return 'is malformed CSV: a quote is in the wrong place or is not closed'
    if (values.length !== columns.length) return `has ${values.length} columns where the header has ${columns.length}`
    return Object.fromEntries(columns.map((column, index) => [column, cellAsWritten(values[index] ?? '')]))
  }
}

function splitCsv(text: string): string[] | undefined {
  try {
    const [values] = parse(text, { trim: true })
    return values ?? []
  } catch {
    return undefined // Its message quotes the line.
  }
}

function jsonFields(text: string): Fields | string {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return 'is malformed JSON'
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'is no JSON object'
  const fields: Fields = {}
  for (const [name, content] of Object.entries(value)) {
    const column = COLUMNS.find((known) => known === name)
    if (column === undefined) return `has a field ${nameOf(name) ?? ''} that is not known: it takes ${WANTED}`
    if (content === null) continue
    if (typeof content !== 'string' && typeof content !== 'number') return `has a ${column} that is no text`
    fields[column] = String(content)
  }
  return fields
}

function rowOf(fields: Fields): AccountRow | string {
  const hubId = Number(fields.hubId)
  if (!/^\d+$/.test(fields.hubId ?? '') || !Number.isSafeInteger(hubId) || hubId === 0) {
    return fields.hubId === undefined || fields.hubId === '' ? 'has no hubId' : 'has a hubId that is no whole number'
  }
  const token = tokenOf(fields)
  if (typeof token === 'string') return token
  const { hubDomain = '', user = '', contact = '', connectedAt = '' } = fields
  if (!/^[^\s\p{Cc}]{0,255}$/u.test(hubDomain)) return 'has a hubDomain that is none'
  if (!/^\P{Cc}{0,255}$/u.test(user)) return 'has a user that is too long, or holds control characters'
  if (contact !== '' && !isMailbox(contact)) return 'has a contact that is no e-mail address'
  const at = connectedAt === '' ? null : Date.parse(connectedAt)
  if (Number.isNaN(at)) return 'has a connectedAt that is no time, such as 2026-11-21T10:00:00Z'
  return { hubId, token, hubDomain, user, ...(contact !== '' && { contact }), connectedAt: at }
}

function tokenOf({ refreshToken = '', sealedRefreshToken = '' }: Fields): AccountRow['token'] | string {
  if (refreshToken !== '' && sealedRefreshToken !== '') return 'has a refreshToken and a sealedRefreshToken: give one'
  if (refreshToken === '' && sealedRefreshToken === '') return 'has no refresh token'
  if (sealedRefreshToken !== '') {
    if (!/^[A-Za-z0-9+/]+={0,2}$/.test(sealedRefreshToken)) return 'has a sealedRefreshToken that is no base64'
    return { is: 'sealed', value: Buffer.from(sealedRefreshToken, 'base64') }
  }
  if (/\s/.test(refreshToken)) return 'has a refresh token with a space in it'
  if (!/^[!-~]+$/.test(refreshToken)) return 'has a refresh token with characters that no token has'
  if (isAccessToken(refreshToken)) return 'has an access token where the refresh token should be'
  return { is: 'clear', value: new Secret(refreshToken) }
}

/** The provider's refresh tokens are UUIDs, some after a region; its access tokens start otherwise and are longer. */
function isAccessToken(token: string): boolean {
  return /^pat-/.test(token) || (/^C[A-Za-z0-9+/_=-]{50,}$/.test(token) && !UUID.test(token))
}

const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/i
