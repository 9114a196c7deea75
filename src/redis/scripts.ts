import { readFileSync } from 'node:fs'
import type { Result } from 'ioredis'
import { forMany } from './for-many.ts'

/**
 * The atomic steps: one Lua file each, in `lua/`. A file's head says what its keys and arguments are and what it
 * returns; `--!include NAME` stands for the text of `lua/include/NAME.lua`. One of many accounts is written for one too.
 */
const STEPS = {
  claimDue: { file: 'claim-due', of: 'many accounts' },
  dueTokens: { file: 'due-tokens', of: 'many accounts' },
  nearestExpiry: { file: 'nearest-expiry', keys: 1 },
  countOverdue: { file: 'count-overdue', keys: 2 },
  readDomains: { file: 'read-domains', keys: 1 },
  searchAccounts: { file: 'search-accounts', keys: 1 },
  bringForward: { file: 'bring-forward', keys: 1 },
  claimTokens: { file: 'claim-tokens', keys: 1 },
  beginRefresh: { file: 'begin-refresh', of: 'many accounts' },
  leaveRefresh: { file: 'leave-refresh', keys: 1 },
  storeTokens: { file: 'store-tokens', of: 'many accounts' },
  recordRefreshFailure: { file: 'record-refresh-failure', keys: 1 },
  connectAccount: { file: 'connect-account', keys: 2 },
  importAccount: { file: 'import-account', keys: 2 },
  storeMetadata: { file: 'store-metadata', keys: 1 },
  refuseForeignToken: { file: 'refuse-foreign-token', keys: 1 },
  beginUninstall: { file: 'begin-uninstall', keys: 1 },
  takeUninstall: { file: 'take-uninstall', keys: 1 },
  recordUninstallFailure: { file: 'record-uninstall-failure', keys: 1 },
  finishUninstall: { file: 'finish-uninstall', keys: 2 },
  purgeAccount: { file: 'purge-account' },
  beginPoll: { file: 'begin-poll', of: 'many accounts' },
  commitPoll: { file: 'commit-poll', of: 'many accounts' },
  storeForecasts: { file: 'store-forecasts', keys: 1 },
  replaceHistory: { file: 'replace-history', keys: 1 },
  movePoll: { file: 'move-poll', keys: 1 },
  changePollBudget: { file: 'change-poll-budget', keys: 1 },
  noteTokenServed: { file: 'note-token-served', keys: 1 },
  replaceAdminToken: { file: 'replace-admin-token', keys: 1 },
  moveDigest: { file: 'move-digest' },
  renewLease: { file: 'renew-lease', keys: 1 },
  changeAlerts: { file: 'change-alerts', keys: 1 },
  changeEndpoint: { file: 'change-endpoint', keys: 2 },
  registerKeys: { file: 'register-keys', keys: 2 },
  reportWriter: { file: 'report-writer', keys: 3 },
  retireKeys: { file: 'retire-keys', keys: 4 },
  rekeyTokens: { file: 'rekey-tokens', keys: 1, guard: 'none' },
  takeCalls: { file: 'take-calls', of: 'many accounts' },
  settleCalls: { file: 'settle-calls', keys: 1 },
  pauseCalls: { file: 'pause-calls', keys: 1 },
  readOutbox: { file: 'read-outbox', of: 'many accounts' },
  findForgotten: { file: 'find-forgotten', keys: 1 },
  collectAlerts: { file: 'collect-alerts', keys: 1 },
  moveWaiting: { file: 'move-waiting', keys: 1 },
  holdAlerts: { file: 'hold-alerts', keys: 1 },
  releaseHeld: { file: 'release-held', keys: 1 },
  withholdAlerts: { file: 'withhold-alerts', keys: 1 },
  closeGroup: { file: 'close-group', keys: 1 },
  beginAttempt: { file: 'begin-attempt', keys: 2 },
  handBackDelivery: { file: 'hand-back-delivery', keys: 2 },
  recordAttempt: { file: 'record-attempt', keys: 1 },
  recordTest: { file: 'record-test', keys: 3 },
  replayDelivery: { file: 'replay-delivery', keys: 1 },
  forgetDelivery: { file: 'forget-delivery', keys: 1 },
  readLedger: { file: 'read-ledger', keys: 1 },
  planDrill: { file: 'plan-drill', keys: 3 },
  enableReceivers: { file: 'enable-receivers', keys: 1 },
} as const

export type Argument = string | number | Buffer

declare module 'ioredis' {
  interface RedisCommander<Context> {
    claimDue(sets: number, ...args: Argument[]): Result<unknown[], Context>
    dueTokens(sets: number, ...args: Argument[]): Result<unknown[], Context>
    nearestExpiry(...args: Argument[]): Result<string, Context>
    countOverdue(...args: Argument[]): Result<number, Context>
    readDomains(...args: Argument[]): Result<[found: string, hubId: string], Context>
    searchAccounts(...args: Argument[]): Result<[found: string[], hubId: string, key: string], Context>
    bringForward(...args: Argument[]): Result<number, Context>
    claimTokens(...args: Argument[]): Result<string[], Context>
    beginRefreshBuffer(accounts: number, ...args: Argument[]): Result<unknown[], Context>
    leaveRefresh(...args: Argument[]): Result<number, Context>
    storeTokens(accounts: number, ...args: Argument[]): Result<unknown[], Context>
    recordRefreshFailure(...args: Argument[]): Result<'recorded' | 'lost', Context>
    connectAccount(...args: Argument[]): Result<'connected' | 'reconnected' | 'stale' | 'crossing', Context>
    beginUninstall(...args: Argument[]): Result<'begun' | 'already' | 'unknown' | 'refuted' | 'stale', Context>
    takeUninstallBuffer(...args: Argument[]): Result<Buffer | Buffer[], Context>
    recordUninstallFailure(...args: Argument[]): Result<'recorded' | 'lost', Context>
    importAccount(...args: Argument[]): Result<'imported' | 'kept' | 'uninstalled' | 'replaced', Context>
    storeMetadata(...args: Argument[]): Result<'stored' | 'lost', Context>
    refuseForeignToken(...args: Argument[]): Result<'refused' | 'lost', Context>
    finishUninstall(...args: Argument[]): Result<'finished' | 'again' | 'reconnected', Context>
    purgeAccount(numberOfKeys: number, ...args: Argument[]): Result<'purged' | 'kept' | 'unknown', Context>
    beginPollBuffer(accounts: number, ...args: Argument[]): Result<unknown[], Context>
    commitPoll(accounts: number, ...args: Argument[]): Result<unknown[], Context>
    storeForecasts(...args: Argument[]): Result<'stored' | 'gone', Context>
    replaceHistory(...args: Argument[]): Result<'replaced' | 'lost', Context>
    movePoll(...args: Argument[]): Result<'moved' | 'gone' | 'lost', Context>
    changePollBudget(...args: Argument[]): Result<string | null, Context>
    noteTokenServed(...args: Argument[]): Result<'noted' | 'stale', Context>
    replaceAdminToken(...args: Argument[]): Result<'replaced' | 'stale', Context>
    moveDigest(numberOfKeys: number, ...args: Argument[]): Result<'moved' | 'lost', Context>
    renewLease(...args: Argument[]): Result<number, Context>
    changeAlerts(...args: Argument[]): Result<'changed' | 'stale', Context>
    changeEndpoint(...args: Argument[]): Result<string | null, Context>
    registerKeys(...args: Argument[]): Result<'registered' | 'stale', Context>
    reportWriter(...args: Argument[]): Result<[daemon: string, keyId: string][], Context>
    retireKeys(...args: Argument[]): Result<'retired' | 'writing', Context>
    rekeyTokens(...args: Argument[]): Result<number, Context>
    takeCalls(accounts: number, ...args: Argument[]): Result<unknown[], Context>
    settleCalls(...args: Argument[]): Result<number, Context>
    pauseCalls(...args: Argument[]): Result<number, Context>
    readOutbox(partitions: number, ...args: Argument[]): Result<unknown[], Context>
    findForgotten(...args: Argument[]): Result<string[], Context>
    collectAlerts(...args: Argument[]): Result<string[] | 'lost', Context>
    moveWaiting(...args: Argument[]): Result<number, Context>
    holdAlerts(...args: Argument[]): Result<number | string, Context>
    releaseHeld(...args: Argument[]): Result<number, Context>
    withholdAlerts(...args: Argument[]): Result<number | string, Context>
    closeGroup(...args: Argument[]): Result<'closed' | 'lost', Context>
    beginAttempt(...args: Argument[]): Result<string[] | 'held' | 'behind', Context>
    handBackDelivery(...args: Argument[]): Result<number, Context>
    recordAttempt(...args: Argument[]): Result<'recorded' | 'unknown', Context>
    recordTest(...args: Argument[]): Result<'recorded' | 'enabled', Context>
    replayDelivery(...args: Argument[]): Result<'replayed' | 'lost', Context>
    forgetDelivery(...args: Argument[]): Result<'forgotten' | 'lost', Context>
    readLedger(...args: Argument[]): Result<[string[], number, string[], string, string, number], Context>
    planDrill(...args: Argument[]): Result<'planned' | 'not-due', Context>
    enableReceivers(...args: Argument[]): Result<number, Context>
  }
}

/** The steps that travel for many accounts at a time already. */
export const OF_MANY_ACCOUNTS = Object.entries(STEPS).flatMap(([name, step]) => ('of' in step ? [name] : []))

const INCLUDE = /^--!include (\S+)\n/gm

/** For ioredis' `scripts` option: sent by hash, and by text only where a server doesn't know them yet. */
export function loadScripts(guards: 0 | 1): Record<string, { lua: string; numberOfKeys?: number }> {
  return Object.fromEntries(
    Object.entries(STEPS).map(([name, step]) => [
      name,
      'of' in step
        ? { lua: forMany(partsOf(`${step.file}.lua`), guards) }
        : {
            lua: readLua(`${step.file}.lua`),
            ...('keys' in step ? { numberOfKeys: step.keys + ('guard' in step ? 0 : guards) } : {}),
          },
    ]),
  )
}

/** The steps that make names of keys themselves, with the number of keys that they declare. */
export const GUARDED = Object.entries(STEPS).flatMap(([name, step]): Guarded[] => {
  if ('of' in step) return [{ name, keys: 'first argument' }]
  return 'keys' in step && !('guard' in step) ? [{ name, keys: step.keys }] : []
})

interface Guarded {
  name: string
  keys: number | 'first argument'
}

function readLua(path: string): string {
  const { shared, step } = partsOf(path)
  return `${shared}${step}`
}

/** What a file includes, at its head, and the rest of it. */
function partsOf(path: string): { shared: string; step: string } {
  const text = readFileSync(new URL(`./lua/${path}`, import.meta.url), 'utf8')
  const included = [...text.matchAll(INCLUDE)].map(([, name]) => readLua(`include/${name}.lua`))
  return { shared: included.join(''), step: text.replace(INCLUDE, '') }
}
