import { resultsOf } from '../redis/answers.ts'
import type { Store } from '../redis/connect.ts'
import { ACCOUNT_STATES, hubIdsIn, type Keys } from '../redis/keys.ts'
import { NO_ACCOUNT, newOperation, untilWritten } from '../redis/steps.ts'
import { chunksOf } from '../runtime/chunks-of.ts'
import type { Clock } from '../runtime/clock.ts'
import { resealLines } from './sealed-tokens.ts'
import { parseAccess } from './stored-access.ts'
import { keyIdOf, type TokenField, type Vault, VaultError } from './vault.ts'
import { closedKey, readKnownKeys } from './vault-keys.ts'

/** A process that encrypts tokens: a rekey waits for it, which may write nothing for half an hour, and then with its old key. */
export interface Writer {
  /** The machine and the process; of one that is no daemon its command, too. */
  daemon: string
  keyId: string
  /** Other keys that encrypt values in its own data folder: none of them may go, whatever is in Redis. */
  needs: readonly string[]
}

export interface RekeyDeps {
  store: Store
  keys: Keys
  vault: Vault
  clock: Clock
  /** Processes that run, as they report themselves. */
  writers: () => Promise<Writer[]>
  /** Before the other keys are let go, the rows of admin tokens are sealed with the first one, too. */
  sealAdminTokens: () => Promise<void>
  /** Answers that Redis did not take are sealed there; those of other machines are their daemons' to seal anew. */
  dataDir?: string
}

export interface RekeyWatcher {
  /** Accounts that this pass has checked, of how many. */
  progress(done: number, total: number): void
  /** Nothing is done until these write with the first key too, or are gone. */
  waiting(writers: readonly Writer[]): void
  signal: AbortSignal
}

/** An account with values that no configured key opens, or whose tokens are no tokens. */
export interface UnopenedTokens {
  hubId: number
  fields: string[]
  reason: string
}

export interface Rekeyed {
  /**
   * - `clean`: all that opens is under the first key, and no process writes with another one.
   * - `writing`: a process still writes with another key.
   * - `stopped`: the signal came.
   */
  is: 'clean' | 'writing' | 'stopped'
  /** The key that everything is to be under. */
  keyId: string
  accounts: number
  /** Values that were encrypted with the first key. */
  replaced: number
  unopened: UnopenedTokens[]
  /** Configured keys that nothing is encrypted with any more. */
  removable: string[]
  /** Keys that a process needs for the values in its data folder. */
  needed: { daemon: string; key: string }[]
  /** With `writing`: the processes, where they are known, and their keys. */
  writers: Writer[]
  writingKeys: string[]
}

/** Accounts that are read, encrypted and written together. */
const CHUNK = 200
/** A process that was killed just now counts as a writer for 35 s. */
const WAIT_FOR_WRITERS_MS = 38_000

/**
 * Encrypts all stored tokens anew with the first key, while daemons run. First the other keys are closed: no step writes a token
 * under one of them any more, so that nothing comes behind the walk. No value is replaced twice, so that a run that was killed is
 * simply run once more.
 */
export async function rekeyAll(deps: RekeyDeps, watcher: RekeyWatcher): Promise<Rekeyed> {
  const [keyId, ...others] = deps.vault.keyIds
  const begun = {
    keyId,
    accounts: 0,
    replaced: 0,
    unopened: [],
    removable: [],
    needed: [],
    writers: [],
    writingKeys: [],
  }
  // A daemon that was never given the first key could read nothing any more, until its tokens die.
  const writers = await waitForWriters(deps, watcher)
  if (watcher.signal.aborted) return { ...begun, is: 'stopped' }
  const writingKeys = [...new Set(writers.map((writer) => writer.keyId))]
  if (writers.length > 0) return { ...begun, is: 'writing', writers, writingKeys }

  const known = new Set([...(await readKnownKeys(deps.store, deps.keys)).keys(), ...others])
  known.delete(keyId)
  const own = newOperation()
  if (known.size > 0) await deps.store.hset(deps.keys.fleet, ...[...known].flatMap((id) => [closedKey(id), own]))
  const { neededKeys, unopened, ...walked } = await walkAll(deps, watcher)
  const rekeyed = { ...begun, ...walked, unopened: [...unopened.values()] }
  if (watcher.signal.aborted) return { ...rekeyed, is: 'stopped' }
  await deps.sealAdminTokens()
  const needed = (await deps.writers()).flatMap(({ daemon, needs }) => needs.map((key) => ({ daemon, key })))
  const kept = new Set([...neededKeys, ...needed.map(({ key }) => key)])
  const retired = [...known].filter((id) => !kept.has(id))
  const opened = await deps.store.retireKeys(deps.keys.canaries, deps.keys.fleet, own, ...retired)
  if (opened.length > 0) return { ...rekeyed, is: 'writing', writingKeys: opened }
  return { ...rekeyed, is: 'clean', removable: others.filter((id) => !kept.has(id)), needed }
}

/** Processes that write with another key than the first, once there are none or the time is over. */
async function waitForWriters(deps: RekeyDeps, watcher: RekeyWatcher): Promise<Writer[]> {
  const waited = deps.clock.stopwatch()
  for (let isSaid = false; ; isSaid = true) {
    const writers = (await deps.writers()).filter(({ keyId }) => keyId !== deps.vault.keyIds[0])
    if (writers.length === 0 || waited() >= WAIT_FOR_WRITERS_MS || watcher.signal.aborted) return writers
    if (!isSaid) watcher.waiting(writers)
    await deps.clock.wait(500, watcher.signal)
  }
}

interface Walk {
  accounts: number
  replaced: number
  /** By their place in Redis, or the answer that is sealed. */
  unopened: Map<string, UnopenedTokens>
  /** Ids of keys that values which could not be opened are under. */
  neededKeys: Set<string>
}

async function walkAll(deps: RekeyDeps, watcher: RekeyWatcher): Promise<Walk> {
  const { store, keys, vault, dataDir } = deps
  const walk: Walk = { accounts: 0, replaced: 0, unopened: new Map(), neededKeys: new Set() }
  const hubIds = await allAccounts(deps)
  for (const chunk of chunksOf(hubIds, CHUNK)) {
    if (watcher.signal.aborted) return walk
    await Promise.all(chunk.map((hubId) => rekeyHolder(deps, { hubId, ...keys.account(hubId) }, walk)))
    walk.accounts += chunk.length
    watcher.progress(walk.accounts, hubIds.length)
  }
  for (const id of await store.zrange(keys.grants.due, 0, '-1')) {
    const key = keys.grants.grant(id)
    await rekeyHolder(deps, { hubId: NO_ACCOUNT, tokens: key, access: key }, walk)
  }
  for (const { holder, needs, reason } of dataDir === undefined ? [] : resealLines(vault, dataDir)) {
    const hubId = typeof holder === 'number' ? holder : NO_ACCOUNT
    walk.unopened.set(`answer of ${holder}`, { hubId, fields: ['answer'], reason })
    if (needs !== undefined) walk.neededKeys.add(needs)
  }
  return walk
}

/** At one moment: an account that goes from one state to another between two reads would be in neither. */
async function allAccounts({ store, keys }: RekeyDeps): Promise<number[]> {
  const reading = store.multi()
  // A tombstone has no tokens.
  const states = ACCOUNT_STATES.filter((state) => state !== 'uninstalled')
  for (const state of states) reading.zrange(keys.state[state], 0, '-1')
  return hubIdsIn(resultsOf<string[]>(await reading.exec()).flat())
}

/** The field that a value was sealed as: those before the last one were refresh tokens in their time. */
function sealedAs(name: string): TokenField | undefined {
  if (name === 'access') return 'access'
  return name === 'refresh' || name.startsWith('previous') ? 'refresh' : undefined
}

/** A place of tokens, and the account that they were sealed for. A grant has its access token with the others. */
interface Holder {
  hubId: number
  tokens: string
  access: string
}

/** A value may go to another place between its read and its write, as when it becomes the token before: then it is read again. */
function rekeyHolder({ store, vault }: RekeyDeps, { hubId, tokens, access }: Holder, walk: Walk): Promise<'written'> {
  return untilWritten(`the tokens of account ${hubId}`, async () => {
    const refused: UnopenedTokens = { hubId, fields: [], reason: '' }
    const [stored, [text]] = await Promise.all([store.hgetallBuffer(tokens), store.mgetBuffer(access)])
    // An unreadable one is no encrypted value.
    const values = text == null ? stored : { ...stored, access: parseAccess(text)?.sealed ?? Buffer.alloc(0) }
    const anew = sealAnew(vault, refused, values, walk)
    if (refused.fields.length > 0) walk.unopened.set(tokens, refused)
    if (anew.length === 0) return 'written'
    const replaced = await store.rekeyAccount(tokens, access, ...anew.flat())
    walk.replaced += replaced
    return replaced < anew.length ? 'stale' : 'written'
  })
}

type SealedAnew = [name: string, before: Buffer, after: Buffer]

/** Each value that is under another key than the first. Those that can't be encrypted anew are added to `refused`. */
function sealAnew(vault: Vault, refused: UnopenedTokens, values: Record<string, Buffer>, walk: Walk): SealedAnew[] {
  const anew: SealedAnew[] = []
  for (const [name, before] of Object.entries(values)) {
    const field = sealedAs(name)
    if (field === undefined) continue
    let keyId: string | undefined
    try {
      keyId = keyIdOf(before)
      if (keyId === vault.keyIds[0]) continue
      const after = vault.seal(vault.open(before, refused.hubId, field), refused.hubId, field)
      anew.push([name, before, after])
    } catch (error) {
      if (!(error instanceof VaultError)) throw error
      refused.fields.push(name)
      refused.reason ||= error.message
      if (keyId !== undefined) walk.neededKeys.add(keyId)
    }
  }
  return anew
}
