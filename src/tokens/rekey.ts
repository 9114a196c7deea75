import type { Store } from '../redis/connect.ts'
import { ACCOUNT_STATES, hubIdsIn, type Keys } from '../redis/keys.ts'
import { isOfOtherType } from '../redis/other-type.ts'
import { resultsOf } from '../redis/results-of.ts'
import { NO_ACCOUNT } from '../redis/steps.ts'
import { chunksOf } from '../runtime/chunks-of.ts'
import type { Clock } from '../runtime/clock.ts'
import { resealAnswers } from './sealed-answers.ts'
import { parseAccess } from './stored-access.ts'
import { keyIdOf, type TokenField, type Vault, VaultError } from './vault.ts'
import { liveWriters, SILENCE_S, type Writer } from './vault-keys.ts'

export interface RekeyDeps {
  store: Store
  keys: Keys
  vault: Vault
  clock: Clock
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
   * - `clean`: a whole pass found nothing to do, and no process writes with another key.
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
/** A process that was killed just now counts as a writer for a while. */
const WAIT_FOR_WRITERS_MS = (SILENCE_S + 3) * 1_000

/**
 * Encrypts all stored tokens anew with the first key, while daemons run. No value is replaced twice, so that a run that was
 * killed is simply run once more.
 */
export async function rekeyAll(deps: RekeyDeps, watcher: RekeyWatcher): Promise<Rekeyed> {
  const [keyId] = deps.vault.keyIds
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
    // Before any pass: values that they write behind it would not be found, and a daemon that was never given the first key
    // could read nothing any more, until its tokens die.
    const writers = await waitForWriters(deps, watcher)
    if (watcher.signal.aborted) return { ...rekeyed, is: 'stopped' }
    if (writers.length > 0) return withWriters(rekeyed, writers)

    const written = await deps.store.hgetall(deps.keys.vault.written)
    const { toReplace, unopenedKeys, ...pass } = await passOverAll(deps, watcher)
    const replaced = rekeyed.replaced + pass.replaced
    rekeyed = { ...rekeyed, ...pass, replaced, passes: rekeyed.passes + 1, writingKeys: [...toReplace] }
    if (watcher.signal.aborted) return { ...rekeyed, is: 'stopped' }
    if (toReplace.size === 0 && (await retireOthers(deps, written, unopenedKeys))) {
      const needed = (await liveWriters(deps)).flatMap(({ daemon, needs }) => needs.map((key) => ({ daemon, key })))
      const kept = new Set([...unopenedKeys, ...needed.map(({ key }) => key)])
      return { ...rekeyed, is: 'clean', removable: deps.vault.keyIds.slice(1).filter((id) => !kept.has(id)), needed }
    }
  }
  return withWriters(rekeyed, await otherWriters(deps))
}

function withWriters(rekeyed: Rekeyed, writers: Writer[]): Rekeyed {
  if (writers.length === 0) return rekeyed
  return { ...rekeyed, writers, writingKeys: [...new Set(writers.map(({ keyId }) => keyId))] }
}

/** False if a process has come since that writes with one of them, though it may be gone again. */
async function retireOthers(
  { store, keys, vault }: RekeyDeps,
  before: Record<string, string>,
  unopenedKeys: ReadonlySet<string>,
): Promise<boolean> {
  const { canaries, used, writers, written } = keys.vault
  const kept = [vault.keyIds[0], ...unopenedKeys]
  return (await store.retireKeys(canaries, used, writers, written, JSON.stringify(before), ...kept)) === 'retired'
}

async function otherWriters(deps: RekeyDeps): Promise<Writer[]> {
  return (await liveWriters(deps)).filter(({ keyId }) => keyId !== deps.vault.keyIds[0])
}

async function waitForWriters(deps: RekeyDeps, watcher: RekeyWatcher): Promise<Writer[]> {
  const waited = deps.clock.stopwatch()
  let writers = await otherWriters(deps)
  if (writers.length > 0) watcher.waiting(writers)
  while (writers.length > 0 && waited() < WAIT_FOR_WRITERS_MS && !watcher.signal.aborted) {
    await deps.clock.wait(500, watcher.signal)
    writers = await otherWriters(deps)
  }
  return writers
}

interface Pass {
  accounts: number
  replaced: number
  /** Ids of other keys, of values that this pass replaced, or that another process wrote during it. */
  toReplace: Set<string>
  unopened: UnopenedTokens[]
  unopenedKeys: Set<string>
}

async function passOverAll(deps: RekeyDeps, watcher: RekeyWatcher): Promise<Pass> {
  const { store, keys } = deps
  const pass: Pass = { accounts: 0, replaced: 0, toReplace: new Set(), unopened: [], unopenedKeys: new Set() }
  const hubIds = await allAccounts(deps)
  for (const chunk of chunksOf(hubIds, CHUNK)) {
    if (watcher.signal.aborted) return pass
    await rekeyChunk(
      deps,
      chunk.map((hubId) => ({ hubId, key: keys.account(hubId).tokens, access: keys.account(hubId).access })),
      pass,
    )
    pass.accounts += chunk.length
    watcher.progress(pass.accounts, hubIds.length)
  }
  for (const id of await store.zrange(keys.grants.due, 0, '-1')) {
    await rekeyChunk(deps, [{ hubId: NO_ACCOUNT, key: keys.grants.grant(id) }], pass)
  }
  for (const { holder, needs, reason } of deps.dataDir === undefined ? [] : resealAnswers(deps.vault, deps.dataDir)) {
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

/** A place of tokens, and the account that they were sealed for. */
interface Holder {
  hubId: number
  key: string
  /** Key of an account's access token: a grant has its own with the others. */
  access?: string
}

async function rekeyChunk({ store, vault }: RekeyDeps, holders: readonly Holder[], pass: Pass): Promise<void> {
  const reading = store.pipeline()
  for (const { key } of holders) reading.hgetallBuffer(key)
  const [stored, accessTokens] = await Promise.all([reading.exec(), accessTokensOf(store, holders)])

  const writing = store.pipeline()
  for (const [index, { hubId, key, access }] of holders.entries()) {
    const [error, values] = stored?.[index] ?? []
    const refused: UnopenedTokens = { hubId, fields: [], reason: '' }
    if (isOfOtherType(error)) {
      refused.fields.push('tokens')
      refused.reason = 'what Redis holds in their place is no record of tokens'
    } else if (error) throw error
    const sealed = { ...((values ?? {}) as Record<string, Buffer>), ...accessTokens[index] }
    const replacements: (string | Buffer)[] = []
    for (const { name, before, after } of sealAnew(vault, refused, sealed, pass)) {
      if (name === 'access' && access !== undefined) writing.rekeyAccess(access, before, after)
      else replacements.push(name, before, after)
    }
    if (replacements.length > 0) writing.rekeyTokens(key, ...replacements)
    if (refused.fields.length > 0) pass.unopened.push(refused)
  }
  const replaced = resultsOf<number>(await writing.exec())
  pass.replaced += replaced.reduce((sum, count) => sum + count, 0)
}

/** Access tokens of accounts. An unreadable value is no encrypted value. */
async function accessTokensOf(store: Store, holders: readonly Holder[]): Promise<Record<string, Buffer>[]> {
  const keys = holders.flatMap(({ access }) => access ?? [])
  const stored = keys.length === 0 ? [] : await store.mgetBuffer(keys)
  return stored.map((text) => (text === null ? {} : { access: parseAccess(text)?.sealed ?? Buffer.alloc(0) }))
}

/** Each value that is under another key than the first: as read, and encrypted anew. Those that can't be are added to `refused`. */
function sealAnew(vault: Vault, refused: UnopenedTokens, values: Record<string, Buffer>, pass: Pass) {
  const anew: { name: string; before: Buffer; after: Buffer }[] = []
  for (const [name, before] of Object.entries(values)) {
    const field = sealedAs(name)
    if (field === undefined) continue
    let keyId: string | undefined
    try {
      keyId = keyIdOf(before)
      if (keyId === vault.keyIds[0]) continue
      const after = vault.seal(vault.open(before, refused.hubId, field), refused.hubId, field)
      anew.push({ name, before, after })
      pass.toReplace.add(keyId)
    } catch (error) {
      if (!(error instanceof VaultError)) throw error
      refused.fields.push(name)
      refused.reason ||= error.message
      if (keyId !== undefined) pass.unopenedKeys.add(keyId)
    }
  }
  return anew
}
