import { randomUUID } from 'node:crypto'
import {
  accessSync,
  closeSync,
  constants,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { openDataFolder } from '../runtime/data-folder.ts'
import { Secret } from '../runtime/secret.ts'
import type { AnswerToStore } from './token-store.ts'
import { type StoreAnswerDeps, storeAnswer } from './unstored.ts'
import { openToken, type Vault } from './vault.ts'

/** What a file is called once all of it is on the disk. */
const WHOLE = '.sealed'
const HALF = '.half'
/** Writing never takes this long. A younger unfinished file may belong to another process of this folder. */
const HALF_FOR_MS = 3_600_000

type Sealing = Pick<StoreAnswerDeps, 'vault' | 'log'>

/** Puts answers that Redis did not take into a file of the data folder. Throws where that can't be: they are in memory alone then. */
export function sealAnswers({ vault, log }: Sealing, dataDir: string, answers: readonly AnswerToStore[]): void {
  const hubIds = answers.map(({ hubId }) => hubId)
  try {
    const file = writeLines(
      dataDir,
      answers.map((answer) => `${answer.hubId} ${sealed(vault, answer)}`),
    )
    log.warn(
      { code: 'token.sealed', hubIds, file },
      `new tokens that Redis did not take are kept in ${file}: the next start stores them, unless Redis takes them before`,
    )
  } catch (error) {
    log.error(
      { code: 'token.not-sealed', hubIds, err: error },
      'new tokens that Redis did not take could not be kept on disk either: a stop loses them',
    )
    throw error
  }
}

/**
 * Stores what an earlier process sealed, by the step that would have stored it then: if newer tokens were stored
 * since, those count. The accounts count as busy from this call on. What no key opens, or Redis knows no account of, stays.
 * Throws where the data folder can't be written: better now than when tokens are to be put there.
 */
export async function storeSealed(deps: StoreAnswerDeps, dataDir: string): Promise<void> {
  const folder = openDataFolder(dataDir, 'answers')
  accessSync(folder, constants.W_OK)
  const names = readdirSync(folder)
  // Left by a process that was killed while it wrote.
  const halves = names.filter((name) => name.endsWith(HALF)).map((name) => join(folder, name))
  for (const half of halves) if (deps.clock.now() - statSync(half).mtimeMs > HALF_FOR_MS) rmSync(half, { force: true })
  const files = names.filter((name) => name.endsWith(WHOLE))
  const read = files.flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n').filter(Boolean))
  const lines = [...new Set(read)]
  const byAccount = Map.groupBy(lines, (line) => Number(line.split(' ')[0]))
  const done = await Promise.all(
    [...byAccount].map(([hubId, own]) =>
      deps.unstored.has(hubId) ? own : deps.unstored.hold(hubId, () => storeLines(deps, hubId, own)),
    ),
  )
  const left = done.flat()
  if (left.length === read.length) return // Nothing was stored: the files stay.
  if (left.length > 0) writeLines(dataDir, left)
  // Another process of this folder may have removed them by now.
  for (const name of files) rmSync(join(folder, name), { force: true })
}

/** Returns the lines that are left. */
async function storeLines(deps: StoreAnswerDeps, hubId: number, lines: readonly string[]): Promise<string[]> {
  const left: string[] = []
  for (const line of lines) {
    const answer = opened(deps, hubId, line.slice(line.indexOf(' ') + 1))
    const is = answer === undefined ? 'left' : await storeAnswer(deps, answer)
    if (is === 'left') left.push(line)
    else deps.log.info({ code: 'token.unsealed', hubId, is }, 'new tokens of an earlier process')
  }
  return left
}

function sealed(vault: Vault, { access, refresh, ...rest }: AnswerToStore): string {
  const text = JSON.stringify({ ...rest, access: access.reveal(), refresh: refresh?.reveal() })
  return vault.seal(new Secret(text), rest.hubId, 'answer').toString('base64')
}

function opened({ vault, log }: Sealing, hubId: number, text: string): AnswerToStore | undefined {
  const result = openToken(vault, Buffer.from(text, 'base64'), hubId, 'answer')
  if (!result.ok) {
    log.error({ code: 'token.unopened', hubId, reason: result.failure.code }, result.failure.message)
    return undefined
  }
  // Authenticated with its encryption: it is what `sealed` wrote.
  const answer = JSON.parse(result.value.reveal()) as Omit<AnswerToStore, 'access' | 'refresh'> & {
    access: string
    refresh?: string
  }
  const { access, refresh } = answer
  return { ...answer, access: new Secret(access), refresh: refresh === undefined ? undefined : new Secret(refresh) }
}

/** Readable for this user only, and renamed once it is whole on the disk: no process reads half a file. */
function writeLines(dataDir: string, lines: readonly string[]): string {
  const folder = openDataFolder(dataDir, 'answers')
  const file = join(folder, `${randomUUID()}${WHOLE}`)
  const half = `${file}${HALF}`
  try {
    writeFileSync(half, `${lines.join('\n')}\n`, { flag: 'wx', mode: 0o600, flush: true })
    renameSync(half, file)
  } catch (error) {
    rmSync(half, { force: true })
    throw error
  }
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  return file
}
