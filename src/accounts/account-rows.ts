import { parse } from 'csv-parse/sync'
import { isMailbox } from '../runtime/mailbox.ts'
import { Secret } from '../runtime/secret.ts'
import { cellAsWritten } from '../text/csv.ts'
import { type FileLine, LinesAhead, LONGEST_LINE } from './lines-of-file.ts'

/**
 * Accounts in a file, as `accounts export`, spreadsheets and other tools write it: CSV with a header, or one JSON object a line.
 * Each line is in a good row, empty, or named; a quote that is never closed spoils its own line and no more.
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

/** Separators of cells: the first of them in the header counts, as no column has one in its name. */
const SEPARATORS = [',', ';', '\t']

/** A file's kind: how the text of a row becomes fields, or a fault; undefined for a row of separators alone. */
interface Format {
  fieldsOf: (text: string) => Fields | string | undefined
  /** True where a cell in quotes may have line breaks. */
  hasQuotes: boolean
}

/** Reads a file as it comes. Throws UnreadableFileError for one that is no list of accounts, or that has none. */
export async function* readRows(bytes: AsyncIterable<Buffer>, fileName: string): AsyncGenerator<ReadLine> {
  const lines = new LinesAhead(bytes)
  try {
    const format = await readHead(lines, fileName)
    let hasRows = false
    for (let first = await lines.at(0); first !== undefined; first = await lines.at(0)) {
      const { text, length } = format.hasQuotes ? await rowAt(lines, first) : { text: first.text, length: 1 }
      const fields = text === undefined ? 'is too long' : text.trim() === '' ? undefined : format.fieldsOf(text)
      const row = typeof fields === 'object' ? rowOf(fields) : fields
      // Several lines that make no good row have a stray quote in the first: the others are rows of their own.
      lines.skip(typeof row === 'string' ? 1 : length)
      if (row === undefined) continue
      hasRows = true
      yield { line: first.line, ...(typeof row === 'string' ? { problem: row } : { row }) }
    }
    if (!hasRows) throw new UnreadableFileError('it has a header and no accounts')
  } finally {
    await lines.close()
  }
}

async function readHead(lines: LinesAhead, fileName: string): Promise<Format> {
  let named: string | undefined
  for (;;) {
    const head = await lines.at(0)
    if (head === undefined) throw new UnreadableFileError('it is empty')
    const { text } = head
    if (text === undefined) throw new UnreadableFileError('its first line is too long to be a list of accounts')
    if (text.trim() === '') {
      lines.skip(1)
      continue
    }
    if (/\.(jsonl|ndjson|json)$/i.test(fileName) || text.trimStart().startsWith('{')) {
      if (text.trimStart().startsWith('[')) {
        throw new UnreadableFileError('it is a JSON list: one object a line is wanted, without brackets and commas')
      }
      return { fieldsOf: jsonFields, hasQuotes: false }
    }
    lines.skip(1)
    const [, separator] = /^"?sep=(.)"?$/i.exec(text) ?? []
    if (separator !== undefined) named = separator
    else {
      const found = named ?? SEPARATORS.find((one) => text.includes(one)) ?? ','
      return { fieldsOf: csvFields(columnsOf(text, found), found), hasQuotes: true }
    }
  }
}

/** The row that begins here: it has more lines while a quote in it is open. */
async function rowAt(lines: LinesAhead, first: FileLine): Promise<{ text: string | undefined; length: number }> {
  const alone = { text: first.text, length: 1 }
  const texts: string[] = []
  let size = 0
  let isOpen = false
  for (let line: FileLine | undefined = first; line?.text !== undefined; line = await lines.at(texts.length)) {
    texts.push(line.text)
    size += line.text.length
    if (size > LONGEST_LINE) return alone
    for (const letter of line.text) if (letter === '"') isOpen = !isOpen
    if (!isOpen) return { text: texts.join('\n'), length: texts.length }
  }
  return alone
}

function columnsOf(header: string, separator: string): string[] {
  const columns = splitCsv(header, separator, 0)
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

function csvFields(columns: readonly string[], separator: string): Format['fieldsOf'] {
  return (text) => {
    const values = splitCsv(text, separator, columns.length)
    if (values === undefined) return 'is malformed CSV: a quote is in the wrong place or is not closed'
    if (!text.includes('\n') && values.every((value) => value === '')) return undefined
    if (values.length !== columns.length) return `has ${values.length} columns where the header has ${columns.length}`
    return Object.fromEntries(columns.map((column, index) => [column, cellAsWritten(values[index] ?? '')]))
  }
}

/** Cells as one line each: the empty ones that a sheet adds to the end of a row beyond `columns` are left out. */
function splitCsv(text: string, delimiter: string, columns: number): string[] | undefined {
  try {
    const [row = [], ...more] = parse(text, { trim: true, delimiter })
    if (more.length > 0) return undefined
    const cells = row.map((cell) => cell.replace(/\s*\n\s*/g, ' ').trim())
    return cells.slice(0, Math.max(columns, cells.findLastIndex((cell) => cell !== '') + 1))
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
  const hubId = hubIdOf(fields.hubId ?? '')
  if (typeof hubId === 'string') return hubId
  const token = tokenOf(fields)
  if (typeof token === 'string') return token
  const { hubDomain = '', user = '', contact = '', connectedAt = '' } = fields
  if (!/^[^\s\p{Cc}]{0,255}$/u.test(hubDomain)) return 'has a hubDomain that is no domain'
  if (!/^\P{Cc}{0,255}$/u.test(user)) return 'has a user that is too long, or holds control characters'
  if (contact !== '' && !isMailbox(contact)) return 'has a contact that is no e-mail address'
  const at = connectedAt === '' ? null : Date.parse(connectedAt)
  if (Number.isNaN(at)) return 'has a connectedAt that is no time, such as 2026-11-21T10:00:00Z'
  return { hubId, token, hubDomain, user, ...(contact !== '' && { contact }), connectedAt: at }
}

/** A sheet may write 1000024 as 1000024.0 or 1.000024E+06, which is exact, or as 1.00E+06, which is not. */
function hubIdOf(text: string): number | string {
  if (text === '') return 'has no hubId'
  const [, whole = '', fraction = '', power = '0'] = /^(\d+)(?:[.,](\d+))?(?:E\+?(\d{1,2}))?$/i.exec(text) ?? []
  const places = Number(power)
  if (places > fraction.length) {
    return 'has a hubId that a spreadsheet rounded: give that column the format "text", and save the file again'
  }
  const hubId = /[1-9]/.test(fraction.slice(places)) ? Number.NaN : Number(whole + fraction.slice(0, places))
  return Number.isSafeInteger(hubId) && hubId > 0 ? hubId : 'has a hubId that is no whole number'
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
