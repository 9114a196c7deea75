import type { Store } from '../redis/connect.ts'
import { ACCOUNT_STATES, hubIdsIn, type Keys } from '../redis/keys.ts'
import { isOfOtherType } from '../redis/other-type.ts'
import { resultsOf } from '../redis/results-of.ts'
import { NO_ACCOUNT } from '../redis/steps.ts'
import { chunksOf } from '../runtime/chunks-of.ts'
import type { Clock } from '../runtime/clock.ts'
import { resealLines } from './sealed-tokens.ts'
import { parseAccess } from './stored-access.ts'
import { keyIdOf, type TokenField, type Vault, VaultError } from './vault.ts'
import { readKnownKeys } from './vault-keys.ts'

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
  passes: number
  unopened: UnopenedTokens[]
  /** Configured keys that nothing is encrypted with any more. */
  removable: string[]
  /** Keys that a process needs for the values in its data folder. */
  needed: { daemon: string; key: string }[]
  /** With `writing`: the processes, where they are known, and their keys. */
  writers: Writer[]
  writingKeys: string[]
}

const MOST_PASSES = 5
/** Accounts that are read, encrypted and written together. */
const CHUNK = 200
/** A process that was killed just now counts as a writer for 35 s. */
const WAIT_FOR_WRITERS_MS = 38_000

/**
 * Encrypts all stored tokens anew with the first key, while daemons run. No value is replaced twice, so that a run that was
 * killed is simply run once more. Another key is forgotten at the end only if nobody has marked it since before the walk: what
 * a process writes behind the walk is found by the next one.
 */
export async function rekeyAll(deps: RekeyDeps, watcher: RekeyWatcher): Promise<Rekeyed> {
  const [keyId, ...others] = deps.vault.keyIds
  let rekeyed: Rekeyed = {
    is: 'writing',
    keyId,
    accounts: 0,
    replaced: 0,
    passes: 0,
    unopened: [],
    removable: [],
    needed: [],
    writers: [],
    writingKeys: [],
  }
  while (rekeyed.passes < MOST_PASSES) {
    // A daemon that was never given the first key could read nothing any more, until its tokens die.
    const { known, writers } = await waitForWriters(deps, watcher)
    if (watcher.signal.aborted) return { ...rekeyed, is: 'stopped' }
    if (writers.length > 0) {
      return { ...rekeyed, writers, writingKeys: [...new Set(writers.map((writer) => writer.keyId))] }
    }

    const { missedKeys, unopenedKeys, ...pass } = await walkAll(deps, watcher)
    rekeyed = { ...rekeyed, ...pass, replaced: rekeyed.replaced + pass.replaced, passes: rekeyed.passes + 1 }
    if (watcher.signal.aborted) return { ...rekeyed, is: 'stopped' }
    const needed = (await deps.writers()).flatMap(({ daemon, needs }) => needs.map((key) => ({ daemon, key })))
    const kept = new Set([keyId, ...unopenedKeys, ...missedKeys, ...needed.map(({ key }) => key)])
    const retired = [...known].filter(([id]) => !kept.has(id))
    const marked = retired.length === 0 ? [] : await deps.store.retireKeys(deps.keys.canaries, ...retired.flat())
    rekeyed.writingKeys = [...new Set([...missedKeys, ...marked])]
    if (rekeyed.writingKeys.length === 0) {
      return { ...rekeyed, is: 'clean', removable: others.filter((id) => !kept.has(id)), needed }
    }
  }
  return rekeyed
}

/** The known keys, as they were before nobody wrote with another key than the first, or the time was over. */
async function waitForWriters(deps: RekeyDeps, watcher: RekeyWatcher) {
  const waited = deps.clock.stopwatch()
  for (let isSaid = false; ; isSaid = true) {
    const known = await readKnownKeys(deps.store, deps.keys)
    const writers = (await deps.writers()).filter(({ keyId }) => keyId !== deps.vault.keyIds[0])
    if (writers.length === 0 || waited() >= WAIT_FOR_WRITERS_MS || watcher.signal.aborted) return { known, writers }
    if (!isSaid) watcher.waiting(writers)
    await deps.clock.wait(500, watcher.signal)
  }
}

interface Pass {
  accounts: number
  replaced: number
  unopened: UnopenedTokens[]
  /** Ids of keys that values which could not be opened are under. */
  unopenedKeys: Set<string>
  /** The same of values that another process wrote over just before they were replaced. */
  missedKeys: Set<string>
}

async function walkAll(deps: RekeyDeps, watcher: RekeyWatcher): Promise<Pass> {
  const { store, keys, vault, dataDir } = deps
  const pass: Pass = { accounts: 0, replaced: 0, unopened: [], unopenedKeys: new Set(), missedKeys: new Set() }
  const hubIds = await allAccounts(deps)
  for (const chunk of chunksOf(hubIds, CHUNK)) {
    if (watcher.signal.aborted) return pass
    const holders = chunk.map((hubId) => ({ hubId, ...keys.account(hubId) }))
    await rekeyChunk(deps, holders, pass)
    pass.accounts += chunk.length
    watcher.progress(pass.accounts, hubIds.length)
  }
  for (const id of await store.zrange(keys.grants.due, 0, '-1')) {
    const key = keys.grants.grant(id)
    await rekeyChunk(deps, [{ hubId: NO_ACCOUNT, tokens: key, access: key }], pass)
  }
  for (const { holder, needs, reason } of dataDir === undefined ? [] : resealLines(vault, dataDir)) {
    pass.unopened.push({ hubId: typeof holder === 'number' ? holder : NO_ACCOUNT, fields: ['answer'], reason })
    if (needs !== undefined) pass.unopenedKeys.add(needs)
  }
  return pass
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

async function rekeyChunk({ store, vault }: RekeyDeps, holders: readonly Holder[], pass: Pass): Promise<void> {
  const reading = store.pipeline()
  for (const { tokens } of holders) reading.hgetallBuffer(tokens)
  const [stored, accessTokens] = await Promise.all([
    reading.exec(),
    store.mgetBuffer(holders.map(({ access }) => access)),
  ])

  const writing = store.pipeline()
  const written: { name: string; keyId: string; before: Buffer; after: Buffer }[][] = []
  for (const [index, { hubId, tokens, access }] of holders.entries()) {
    const [error, values] = stored?.[index] ?? []
    const refused: UnopenedTokens = { hubId, fields: [], reason: '' }
    if (isOfOtherType(error)) {
      refused.fields.push('tokens')
      refused.reason = 'what Redis holds in their place is no record of tokens'
    } else if (error) throw error
    const sealed = { ...(values as Record<string, Buffer> | undefined) }
    const text = accessTokens[index]
    // An unreadable one is no encrypted value.
    if (text != null) sealed.access = parseAccess(text)?.sealed ?? Buffer.alloc(0)
    const anew = sealAnew(vault, refused, sealed, pass)
    if (anew.length > 0) {
      written.push(anew)
      writing.rekeyAccount(tokens, access, ...anew.flatMap(({ name, before, after }) => [name, before, after]))
    }
    if (refused.fields.length > 0) pass.unopened.push(refused)
  }
  for (const [index, count] of resultsOf<number>(await writing.exec()).entries()) {
    pass.replaced += count
    const anew = written[index] ?? []
    if (count < anew.length) for (const { keyId } of anew) pass.missedKeys.add(keyId)
  }
}

/** Each value that is under another key than the first: as read, and encrypted anew. Those that can't be are added to `refused`. */
function sealAnew(vault: Vault, refused: UnopenedTokens, values: Record<string, Buffer>, pass: Pass) {
  const anew: { name: string; keyId: string; before: Buffer; after: Buffer }[] = []
  for (const [name, before] of Object.entries(values)) {
    const field = sealedAs(name)
    if (field === undefined) continue
    let keyId: string | undefined
    try {
      keyId = keyIdOf(before)
      if (keyId === vault.keyIds[0]) continue
      const after = vault.seal(vault.open(before, refused.hubId, field), refused.hubId, field)
      anew.push({ name, keyId, before, after })
    } catch (error) {
      if (!(error instanceof VaultError)) throw error
      refused.fields.push(name)
      refused.reason ||= error.message
      if (keyId !== undefined) pass.unopenedKeys.add(keyId)
    }
  }
  return anew
}
