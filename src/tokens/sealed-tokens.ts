import { randomUUID } from 'node:crypto'
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { readKeptAnswer } from '../provider/answers.ts'
import type { UnreadAnswer } from '../provider/failure.ts'
import { NO_ACCOUNT, NO_ALERT_WRITES } from '../redis/steps.ts'
import { openDataFolder } from '../runtime/data-folder.ts'
import { Secret } from '../runtime/secret.ts'
import {
  type Holder,
  holderFacts,
  holderOf,
  type PendingFile,
  type TokenDeps,
  UNKNOWN_KEPT_MS,
} from './pending-tokens.ts'
import type { TokensToStore } from './token-store.ts'
import { keyIdOf, openToken, type Vault } from './vault.ts'

/** Each line of its files names an account or grant, with its sealed tokens, or an answer with tokens that could not be read. */
const FOLDER = 'answers'
const TOKENS = '.sealed'
/** Ending of a file that is being written. */
const HALF = '.half'

/** Has the pending tokens of one process. */
export class SealedFile implements PendingFile {
  readonly path: string
  readonly #vault: Vault
  readonly #dataDir: string

  constructor(vault: Vault, dataDir: string) {
    this.#vault = vault
    this.#dataDir = dataDir
    this.path = resolve(dataDir, FOLDER, `${randomUUID()}${TOKENS}`)
  }

  write(all: readonly TokensToStore[]): void {
    const lines = all.map((tokens) => sealedLine(this.#vault, holderOf(tokens), textOf(tokens)))
    writeLines(this.#dataDir, basename(this.path), lines)
  }
}

/** An answer of the token endpoint that could not be read, to a refresh or for an install. */
export interface UnreadTokens extends UnreadAnswer {
  holder: Holder
  /** Version of the tokens that were stored then, or that the install makes. */
  version: string
  /** The only account that an install may connect. */
  only?: number | undefined
}

/** Seals the answer for a version that can read it. Returns the outcome, for people. Never throws. */
export function keepUnread(
  { vault, log }: Pick<TokenDeps, 'vault' | 'log'>,
  dataDir: string,
  { holder, body, sent, ...others }: UnreadTokens,
): string {
  const text = new Secret(JSON.stringify({ ...others, body: body.reveal(), sent: sent.reveal() }))
  try {
    const file = writeLines(dataDir, `${randomUUID()}${TOKENS}`, [sealedLine(vault, holder, text)])
    return `it is kept sealed in ${file}`
  } catch (err) {
    const facts = { code: 'token.not-sealed', ...holderFacts(holder), err } as const
    log.error(facts, 'an unread answer could not be kept on disk')
    return `it could not be kept in ${dataDir}`
  }
}

/**
 * Stores the tokens that earlier processes sealed, by the step that would have stored them then: if newer tokens were stored
 * since, those count. Tokens that no key opens stay, and answers that this version can't read either. Throws where the data folder
 * can't be written: better now than when tokens are to be put there.
 */
export async function storeSealed(deps: TokenDeps, dataDir: string): Promise<void> {
  const { vault, log, pending } = deps
  accessSync(openDataFolder(dataDir, FOLDER), constants.W_OK)
  const sealed = new Map<string, TokensToStore | 'over'>()
  for (const { line, holder, text, stuck } of openFiles(vault, dataDir, TOKENS).flatMap(({ lines }) => lines)) {
    const found = text === undefined ? undefined : tokensIn(holder, text)
    if (found === undefined) {
      log.error({ code: 'token.unopened', ...holderFacts(holder), reason: 'vault' }, stuck?.reason ?? '')
    } else if (!('body' in found)) sealed.set(line, found)
    else if (await isOver(deps, found)) sealed.set(line, 'over')
  }
  await pending.takeOver([...sealed.values()].filter((tokens) => tokens !== 'over'))
  // By now this process, or another one of the folder, may have written a file anew.
  for (const { name, lines } of openFiles(vault, dataDir, TOKENS)) {
    const left = lines.map(({ line }) => line).filter((line) => !sealed.has(line))
    if (left.length < lines.length) writeLines(dataDir, name, left)
  }
}

/** The tokens are in it in clear. */
function textOf(tokens: TokensToStore): Secret {
  return new Secret(JSON.stringify({ ...tokens, access: tokens.access.reveal(), refresh: tokens.refresh?.reveal() }))
}

/** Authenticated with its encryption: it is a text of `textOf`, or of `keepUnread`. */
function tokensIn(holder: Holder, text: Secret): TokensToStore | UnreadTokens {
  const { access, refresh, body, sent, ...others } = JSON.parse(text.reveal())
  if (body === undefined) {
    return { ...others, access: new Secret(access), refresh: refresh === undefined ? undefined : new Secret(refresh) }
  }
  const unread = { ...others, holder, body: new Secret(body), sent: new Secret(sent) }
  return tokensOfAnswer(unread) ?? unread
}

/** Undefined where this version can't read it either. */
function tokensOfAnswer({ holder, body, sent, sentAt, version, only }: UnreadTokens): TokensToStore | undefined {
  const answer = readKeptAnswer(body)
  if (answer === undefined) return undefined
  const { accessToken: access, refreshToken: refresh, lifetimeMs } = answer
  const times = { obtainedAt: sentAt, expiresAt: sentAt + lifetimeMs }
  if (typeof holder === 'number') {
    // The refresh that is due at once ends the alert, and plans the next one.
    const plan = { refreshAt: sentAt, pollAt: 'unchanged', alerts: NO_ALERT_WRITES } as const
    return {
      hubId: holder,
      claim: sentAt,
      version,
      access,
      refresh: refresh ?? sent,
      mayBeForeign: true,
      times,
      ...plan,
    }
  }
  if (refresh === undefined) return undefined
  return { hubId: NO_ACCOUNT, id: holder, access, refresh, times, grantedAt: sentAt, only, version: Number(version) }
}

/** Newer tokens of the account were stored since, or it was forgotten. */
async function isOver({ tokens, clock }: TokenDeps, { holder, version, sentAt }: UnreadTokens): Promise<boolean> {
  if (typeof holder === 'string') return false
  const stored = await tokens.read(holder)
  if (stored === undefined) return clock.now() - sentAt > UNKNOWN_KEPT_MS
  return Number(stored.version) > Number(version)
}

/** A line that stays as it is sealed. */
export interface StuckLine {
  holder: Holder
  /** The key without which no process can ever open it; undefined: it is damaged. */
  needs: string | undefined
  reason: string
}

/** Lines of the folder that no configured key opens. Changes nothing. */
export function unopenedLines(vault: Vault, dataDir: string): StuckLine[] {
  return openFiles(vault, dataDir, '').flatMap(({ lines }) => lines.flatMap(({ stuck }) => stuck ?? []))
}

/** Seals the folder anew with the first key. Returns lines that stay under another one. Throws where it can't be read. */
export function resealLines(vault: Vault, dataDir: string): StuckLine[] {
  const stuck = unopenedLines(vault, dataDir)
  for (const { name, lines } of openFiles(vault, dataDir, '')) {
    const old = lines.filter(({ keyId }) => keyId !== undefined && keyId !== vault.keyIds[0])
    const anew = lines.map(({ line, holder, text }) => (text === undefined ? line : sealedLine(vault, holder, text)))
    try {
      if (old.length > 0) writeLines(dataDir, name, anew)
    } catch (error) {
      const reason = `it could not be encrypted again: ${String(error)}`
      stuck.push(...old.map(({ holder, keyId }) => ({ holder, needs: keyId, reason })))
    }
  }
  return stuck
}

/** For people; undefined: there are none. */
export function describeStuck(stuck: readonly StuckLine[]): string | undefined {
  const [first] = stuck
  if (first === undefined) return undefined
  const whose = typeof first.holder === 'number' ? `of account ${first.holder}` : 'of an install'
  const others = stuck.length === 1 ? '' : `, and ${stuck.length - 1} more`
  return `new tokens ${whose} wait in dataDir/answers: ${first.reason}${others}`
}

export function sealedLine(vault: Vault, holder: Holder, text: Secret): string {
  return `${holder} ${vault.seal(text, hubIdOf(holder), 'answer').toString('base64')}`
}

/** A line of a file. */
export interface SealedLine {
  line: string
  holder: Holder
  /** The content and its key; undefined where no key opens the line: then it is stuck. */
  text?: Secret
  keyId?: string
  stuck?: StuckLine
}

function openLine(vault: Vault, line: string): SealedLine {
  const [name = '', base64 = ''] = line.split(' ')
  const holder: Holder = /^\d{1,16}$/.test(name) ? Number(name) : name
  const sealed = Buffer.from(base64, 'base64')
  const result = openToken(vault, sealed, hubIdOf(holder), 'answer')
  if (result.ok) return { line, holder, text: result.value, keyId: keyIdOf(sealed) }
  const { missingKey, message } = result.failure
  return { line, holder, stuck: { holder, needs: missingKey, reason: message } }
}

function hubIdOf(holder: Holder): number {
  return typeof holder === 'number' ? holder : NO_ACCOUNT
}

/** Files whose names end so, with their lines. */
export function openFiles(vault: Vault, dataDir: string, ending: string): { name: string; lines: SealedLine[] }[] {
  const folder = join(dataDir, FOLDER)
  if (!existsSync(folder)) return []
  const names = readdirSync(folder).filter((name) => name.endsWith(ending) && !name.endsWith(HALF))
  return names.map((name) => ({ name, lines: linesOf(join(folder, name)).map((line) => openLine(vault, line)) }))
}

/** None where another process of this folder has just removed the file. */
function linesOf(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
}

/**
 * Readable for this user only, and renamed once it is whole on the disk: no process reads half a file. Without lines it is
 * removed. Returns its path.
 */
export function writeLines(dataDir: string, name: string, lines: readonly string[]): string {
  if (lines.length === 0) rmSync(join(dataDir, FOLDER, name), { force: true })
  const file = join(openDataFolder(dataDir, FOLDER), name)
  if (lines.length === 0) return file
  const half = `${file}.${randomUUID()}${HALF}`
  try {
    writeFileSync(half, `${lines.join('\n')}\n`, { flag: 'wx', mode: 0o600, flush: true })
    renameSync(half, file)
  } catch (error) {
    rmSync(half, { force: true })
    throw error
  }
  const descriptor = openSync(dirname(file), 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
  return file
}
