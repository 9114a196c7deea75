import { createHash, randomUUID } from 'node:crypto'
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
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import type { UnreadAnswer } from '../provider/failure.ts'
import { NO_ACCOUNT } from '../redis/steps.ts'
import { openDataFolder } from '../runtime/data-folder.ts'
import { Secret } from '../runtime/secret.ts'
import { answerIn, answerText } from './answer-text.ts'
import { type StoreAnswerDeps, storeAnswer } from './store-tokens.ts'
import type { TokensToStore } from './token-store.ts'
import { type Holder, holderFacts, holderOf, isGrant } from './unstored.ts'
import { keyIdOf, openToken, type Vault, VaultError } from './vault.ts'

/** Ending of a file's name once all of it is on the disk. */
const WHOLE = '.sealed'
/** The same of an answer that could not be read. */
export const UNREAD = '.unread'
/** The same of the newest refresh token of an account that is being connected. */
const LATEST = '.latest'
const HALF = '.half'
/** Writing never takes this long. A younger unfinished file may belong to another process of this folder. */
const HALF_FOR_MS = 3_600_000

type Sealing = Pick<StoreAnswerDeps, 'vault' | 'log'>

/**
 * Puts answers that Redis did not take into a file of the data folder; returns a function that removes it. Throws where that
 * can't be: they are in memory alone then.
 */
export function sealAnswers({ vault, log }: Sealing, dataDir: string, answers: readonly TokensToStore[]): () => void {
  const hubIds = answers.flatMap((answer) => (isGrant(answer) ? [] : [answer.hubId]))
  const facts = { hubIds, grants: answers.length - hubIds.length }
  try {
    const file = join(openDataFolder(dataDir, 'answers'), `${randomUUID()}${WHOLE}`)
    writeLines(
      file,
      answers.map((answer) => `${holderOf(answer)} ${sealed(vault, answer)}`),
    )
    log.warn(
      { code: 'token.sealed', ...facts, file },
      `new tokens that Redis did not take are kept in ${file}: the next start stores them, unless Redis takes them before`,
    )
    return () => rmSync(file, { force: true })
  } catch (error) {
    log.error(
      { code: 'token.not-sealed', ...facts, err: error },
      'new tokens that Redis did not take could not be kept on disk either: a stop loses them',
    )
    throw error
  }
}

/** An answer of the token endpoint that could not be read, of an account or of the grant of an install. */
export interface KeptUnread extends UnreadAnswer {
  holder: Holder
  /** Generation of the tokens that were stored then. */
  generation?: string
  /** The only account that an install may connect. */
  only?: number | undefined
}

/**
 * Seals the answer into a file of the data folder, one for an account: a later answer is a further line, because the first one
 * may hold the token that works. Returns the outcome, for people. Never throws.
 */
export function keepUnread({ vault, log }: Sealing, dataDir: string, kept: KeptUnread): string {
  const { holder, body, sent, ...others } = kept
  try {
    const name = typeof holder === 'number' ? holder : randomUUID()
    const file = join(openDataFolder(dataDir, 'answers'), `${name}${UNREAD}`)
    const text = new Secret(JSON.stringify({ ...others, body: body.reveal(), sent: sent.reveal() }))
    const line = `${holder} ${vault.seal(text, hubIdOf(holder), 'answer').toString('base64')}`
    const before = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
    // Half of an earlier one must not be in the way.
    writeLines(file, [...before, line], `${file}.${randomUUID()}${HALF}`)
    return `it is kept sealed in ${file}`
  } catch (error) {
    log.error(
      { code: 'token.not-sealed', ...holderFacts(holder), err: error },
      'an unread answer could not be kept on disk',
    )
    return `it could not be kept in ${join(dataDir, 'answers')}`
  }
}

/** Answers that could not be read, with their files; `kept` is undefined where no key opens one. */
export function readUnread(vault: Vault, dataDir: string): { file: string; kept: KeptUnread | undefined }[] {
  return readFiles(openDataFolder(dataDir, 'answers'), UNREAD).flatMap(({ file, lines }) =>
    lines.map((line) => {
      const { holder, text } = openLine(vault, line)
      if (text === undefined) return { file, kept: undefined }
      const { body, sent, ...others } = JSON.parse(text.reveal())
      return { file, kept: { ...others, holder, body: new Secret(body), sent: new Secret(sent) } }
    }),
  )
}

/** A refresh token that was given, in names: it is not told from this. */
export function digestOf(token: Secret): string {
  return createHash('sha256').update(token.reveal()).digest('hex')
}

/**
 * Seals the refresh token that came in place of the one that was given: until an account is stored with it, it is nowhere
 * else. Throws where that can't be.
 */
export function keepLatest({ vault, log }: Sealing, dataDir: string, given: Secret, latest: Secret): void {
  const name = digestOf(given)
  try {
    openDataFolder(dataDir, 'answers')
    const file = latestFile(dataDir, name)
    const line = `${name} ${vault.seal(latest, NO_ACCOUNT, 'answer').toString('base64')}`
    writeLines(file, [line], `${file}.${randomUUID()}${HALF}`)
  } catch (error) {
    log.error(
      { code: 'token.not-sealed', grants: 1, err: error },
      'a new refresh token could not be kept on disk: a stop before its account is stored loses it',
    )
    throw error
  }
}

/** The newest refresh token that came in place of the one that was given, or else that one. Throws VaultError. */
export function latestOf(vault: Vault, dataDir: string, given: Secret): Secret {
  const file = latestFile(dataDir, digestOf(given))
  if (!existsSync(file)) return given
  const { text, stuck } = openLine(vault, readFileSync(file, 'utf8').trim())
  if (text === undefined) throw new VaultError(stuck.reason, stuck.needs)
  return text
}

export function forgetLatest(dataDir: string, given: Secret): void {
  rmSync(latestFile(dataDir, digestOf(given)), { force: true })
}

function latestFile(dataDir: string, name: string): string {
  return join(dataDir, 'answers', `${name}${LATEST}`)
}

/**
 * Stores the answers that an earlier process sealed, by the step that would have stored them then: if newer tokens were stored
 * since, those count. The accounts count as busy from this call on. Answers that no key opens, or whose account is not in
 * Redis, stay. Throws where the data folder can't be written: better now than when tokens are to be put there.
 */
export async function storeSealed(deps: StoreAnswerDeps, dataDir: string): Promise<void> {
  const folder = openDataFolder(dataDir, 'answers')
  accessSync(folder, constants.W_OK)
  // Left by a process that was killed while it wrote.
  const halves = filesIn(folder, HALF)
  for (const half of halves) if (deps.clock.now() - statSync(half).mtimeMs > HALF_FOR_MS) rmSync(half, { force: true })
  const files = readFiles(folder, WHOLE)
  const byHolder = Map.groupBy(new Set(files.flatMap(({ lines }) => lines)), (line) => line.split(' ')[0] ?? '')
  const left = await Promise.all([...byHolder].map(([name, own]) => storeOf(deps, name, own)))
  const isLeft = new Set(left.flat())
  for (const { file, lines } of files) {
    const kept = lines.filter((line) => isLeft.has(line))
    // Another process of this folder may have removed it by now.
    if (kept.length === 0) rmSync(file, { force: true })
    else if (kept.length < lines.length) writeLines(file, kept)
  }
}

/** An answer that stays as it is sealed. */
export interface StuckAnswer {
  holder: Holder
  /** The key without which no process can ever open it; undefined: it is damaged. */
  needs: string | undefined
  reason: string
}

/** Answers of the folder that no configured key opens. Changes nothing. */
export function unopenedAnswers(vault: Vault, dataDir: string): StuckAnswer[] {
  const folder = join(dataDir, 'answers')
  if (!existsSync(folder)) return []
  return readFiles(folder, WHOLE, UNREAD, LATEST).flatMap(({ lines }) =>
    lines.flatMap((line) => openLine(vault, line).stuck ?? []),
  )
}

/** Seals answers of the folder anew with the first key. Returns those that stay under another one. Throws where it can't be read. */
export function resealAnswers(vault: Vault, dataDir: string): StuckAnswer[] {
  const files = readFiles(openDataFolder(dataDir, 'answers'), WHOLE, UNREAD, LATEST)
  return files.flatMap(({ file, lines }) => resealFile(vault, file, lines))
}

function resealFile(vault: Vault, file: string, lines: readonly string[]): StuckAnswer[] {
  const [stuck, old]: [StuckAnswer[], StuckAnswer[]] = [[], []]
  const resealed = lines.map((line) => {
    const { name, holder, sealed, text, stuck: unopened } = openLine(vault, line)
    if (unopened !== undefined) stuck.push(unopened)
    if (text === undefined || keyIdOf(sealed) === vault.keyIds[0]) return line
    old.push({ holder, needs: keyIdOf(sealed), reason: 'it could not be encrypted again' })
    return `${name} ${vault.seal(text, hubIdOf(holder), 'answer').toString('base64')}`
  })
  try {
    if (old.length > 0) writeLines(file, resealed)
    return stuck
  } catch (error) {
    return [...stuck, ...old.map((one) => ({ ...one, reason: `${one.reason}: ${String(error)}` }))]
  }
}

/** For people; undefined: there are none. */
export function describeStuck(stuck: readonly StuckAnswer[]): string | undefined {
  const [first] = stuck
  if (first === undefined) return undefined
  const whose = typeof first.holder === 'number' ? `of account ${first.holder}` : 'of an install'
  const others = stuck.length === 1 ? '' : `, and ${stuck.length - 1} more`
  return `new tokens ${whose} wait in dataDir/answers: ${first.reason}${others}`
}

/** Stores lines of one account, or one grant. Returns the lines that are left. */
async function storeOf(deps: StoreAnswerDeps, name: string, lines: readonly string[]): Promise<readonly string[]> {
  const holder = holderNamed(name)
  const isInHand = deps.unstored.has(holder) || deps.unstored.grant(name) !== undefined
  return isInHand ? lines : deps.unstored.hold(holder, () => storeLines(deps, holder, lines))
}

async function storeLines(deps: StoreAnswerDeps, holder: Holder, lines: readonly string[]): Promise<string[]> {
  const left: string[] = []
  for (const line of lines) {
    const answer = opened(deps, line)
    const is = answer === undefined ? 'left' : await storeOne(deps, answer)
    if (is === 'left') left.push(line)
    else deps.log.info({ code: 'token.unsealed', ...holderFacts(holder), is }, 'new tokens of an earlier process')
  }
  return left
}

/** A grant that Redis does not take stays in memory, and in its file. */
async function storeOne(deps: StoreAnswerDeps, answer: TokensToStore) {
  if (!isGrant(answer)) return storeAnswer(deps, answer)
  const is = await deps.tokens.parkGrant(answer, deps.vault, deps.clock.now()).catch(() => 'left' as const)
  if (is === 'parked') deps.unstored.settle(answer, true, deps.clock)
  return is
}

function sealed(vault: Vault, answer: TokensToStore): string {
  return vault.seal(answerText(answer), answer.hubId, 'answer').toString('base64')
}

/** Opens a line of a file: its account or grant, and the sealed text. */
function openLine(vault: Vault, line: string) {
  const [name = '', text = ''] = line.split(' ')
  const holder = holderNamed(name)
  const sealed = Buffer.from(text, 'base64')
  const result = openToken(vault, sealed, hubIdOf(holder), 'answer')
  if (result.ok) return { name, holder, sealed, text: result.value }
  const { missingKey, message } = result.failure
  return { name, holder, sealed, stuck: { holder, needs: missingKey, reason: message } }
}

function holderNamed(name: string): Holder {
  return /^\d{1,16}$/.test(name) ? Number(name) : name
}

function hubIdOf(holder: Holder): number {
  return typeof holder === 'number' ? holder : NO_ACCOUNT
}

function opened({ vault, log }: Sealing, line: string): TokensToStore | undefined {
  const { holder, text, stuck } = openLine(vault, line)
  if (text === undefined) {
    log.error({ code: 'token.unopened', ...holderFacts(holder), reason: 'vault' }, stuck.reason)
    return undefined
  }
  // Authenticated with its encryption: it is the text that `sealed` wrote.
  return answerIn(text)
}

/** Files that are whole, with their lines. */
function readFiles(folder: string, ...endings: string[]): { file: string; lines: string[] }[] {
  return endings
    .flatMap((ending) => filesIn(folder, ending))
    .flatMap((file) => {
      try {
        return [{ file, lines: readFileSync(file, 'utf8').split('\n').filter(Boolean) }]
      } catch (error) {
        // Another process of this folder stored its answers, and removed it.
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
        throw error
      }
    })
}

function filesIn(folder: string, ending: string): string[] {
  const names = readdirSync(folder).filter((name) => name.endsWith(ending))
  return names.map((name) => join(folder, name))
}

/** Readable for this user only, and renamed once it is whole on the disk: no process reads half a file. */
function writeLines(file: string, lines: readonly string[], half = `${file}${HALF}`): void {
  try {
    writeFileSync(half, `${lines.join('\n')}\n`, { flag: 'wx', mode: 0o600, flush: true })
    renameSync(half, file)
  } catch (error) {
    rmSync(half, { force: true })
    throw error
  }
  const descriptor = openSync(dirname(file), 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
