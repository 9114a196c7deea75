import { readdirSync, readFileSync } from 'node:fs'
import type { ClientContext, Cluster, Result } from 'ioredis'

export type Argument = string | number | Buffer

/** How many keys a step declares; 'first argument': as many as that argument is. */
interface Step<Answer> {
  keys: number | 'first argument'
  /** The step makes names of keys itself. */
  guarded: boolean
  /** Never there: for the type alone. */
  answer?: Answer
}

const on = <Answer>(keys: number, touches?: 'alone'): Step<Answer> => ({
  keys,
  guarded: touches === undefined,
})
/** Accounts, as many as the first argument is. */
const ofMany = <Answer>(): Step<Answer> => ({ keys: 'first argument', guarded: true })

/** `held`: what was lost waits for the worker that refreshes the account. */
export type Stored = 'stored' | 'lost' | 'uninstalled' | 'unknown' | 'held'

/** `moved`: another address is in force than the one that wants no more; `disabled`: it was switched off by this; `refused`: a recipient is refused that was not before. */
export type Recorded = 'recorded' | 'unknown' | 'moved' | 'disabled' | 'refused'

/**
 * The atomic steps. Their texts are in `lua/`, a file for each subject; a step begins with `--!step NAME`, and its head lists
 * its keys and arguments and what it returns. `--!include NAME` is replaced by the text of `lua/include/NAME.lua`.
 */
const STEPS = {
  readTime: on<number>(1, 'alone'),
  moveClaim: on<number>(1),
  bringForward: on<number>(1),
  claimAccounts: on<[claim: string, ...hubIds: string[]]>(2),
  claimAccount: on<'gone' | 'held' | [claim: string, before: string]>(2),
  claimRefreshes: on<'gone' | 'held' | [claim: string, ...read: (string | Error)[][]]>(1),
  storeTokens: ofMany<(Stored | Error)[]>(),
  recordRefreshFailure: on<'recorded' | 'lost'>(1),
  connectAccount: on<'connected' | 'reconnected' | 'known' | 'stale' | 'uninstalled' | 'strange'>(1),
  importAccount: on<'imported' | 'kept' | 'uninstalled' | 'replaced'>(1),
  takeIntent: on<string>(1),
  parkGrant: on<'parked' | 'gone'>(1),
  storeIdentity: on<'stored' | 'foreign' | 'known' | 'lost'>(1),
  beginUninstall: on<'begun' | 'already' | 'unknown' | 'refuted' | 'stale'>(1),
  recordDeletion: on<'finished' | 'failed' | 'again' | 'reconnected' | 'lost'>(1),
  purgeAccount: on<'purged' | 'kept' | 'reconnected' | 'unknown'>(1),
  commitPolls: ofMany<(string | Error)[]>(),
  storeForecasts: on<'stored' | 'gone'>(1),
  replaceHistory: on<'replaced' | 'lost'>(1),
  putAside: on<'put aside'>(1),
  noteTokenServed: on<'noted' | 'stale'>(1),
  replaceField: on<string | null>(1),
  sendDigest: on<'sent' | 'lost'>(1),
  changeAlerts: on<'changed' | 'stale'>(1),
  registerKey: on<'registered' | 'stale'>(2, 'alone'),
  retireKeys: on<string[]>(2, 'alone'),
  rekeyAccount: on<number>(2, 'alone'),
  planEvents: on<number>(1),
  planAcknowledgement: on<number>(1),
  settleNews: on<string[]>(1),
  recheckWaiting: on<number>(1),
  recordSends: on<'recorded' | 'lost'>(1),
  beginAttempt: on<string[] | 'lost' | 'busy'>(1),
  recordAttempt: on<Recorded>(1),
  recordTest: on<'recorded' | 'enabled'>(1),
  replayDelivery: on<'replayed' | 'lost'>(1),
  hurryReceiver: on<number>(1),
  forgetDelivery: on<'forgotten' | 'lost'>(1),
  planReconnectMail: on<'planned' | 'not-due'>(1),
  enableReceivers: on<number>(1),
}

type Steps = typeof STEPS
type AnswerOf<S> = S extends Step<infer Answer> ? Answer : never
type Binary<A> = A extends string ? Buffer : A extends unknown[] ? { [N in keyof A]: Binary<A[N]> } : A
type Methods<Context extends ClientContext> = {
  [Name in keyof Steps]: (...args: Argument[]) => Result<AnswerOf<Steps[Name]>, Context>
} & {
  [Name in keyof Steps as `${Name}Buffer`]: (...args: Argument[]) => Result<Binary<AnswerOf<Steps[Name]>>, Context>
}

declare module 'ioredis' {
  interface RedisCommander<Context extends ClientContext> extends Methods<Context> {}
}

/** For ioredis' `scripts` option: sent by hash, and by text only where a server doesn't know them yet. */
export function loadScripts(guards: 0 | 1): Scripts {
  // Joined once for all connections of a process: it is a MB.
  loaded[guards] ??= joinScripts(guards)
  return loaded[guards]
}

type Scripts = Record<string, { lua: string; numberOfKeys?: number }>
const loaded: Partial<Record<0 | 1, Scripts>> = {}

function joinScripts(guards: 0 | 1): Scripts {
  const texts = readTexts()
  const load = ([name, { keys, guarded }]: [string, Step<unknown>]) => {
    const lua = texts.get(name)
    if (lua === undefined) throw new Error(`no file in lua/ has the step ${name}`)
    return [name, typeof keys === 'number' ? { lua, numberOfKeys: keys + (guarded ? guards : 0) } : { lua }]
  }
  return Object.fromEntries(Object.entries(STEPS).map(load))
}

function readTexts(): Map<string, string> {
  const files = readdirSync(LUA).filter((file) => file.endsWith('.lua'))
  const steps = files.flatMap((file) =>
    readFileSync(new URL(file, LUA), 'utf8')
      .split(/^--!step /m)
      .slice(1),
  )
  return new Map(
    steps.map((text) => [text.slice(0, text.indexOf('\n')), withIncludes(text.slice(text.indexOf('\n') + 1))]),
  )
}

/** Each include stands at the head of its text. */
function withIncludes(text: string): string {
  return text.replace(INCLUDE, (_, name: string) =>
    withIncludes(readFileSync(new URL(`include/${name}.lua`, LUA), 'utf8')),
  )
}

const LUA = new URL('./lua/', import.meta.url)
const INCLUDE = /^--!include (\S+)\n/gm

/**
 * A step declares one key and touches others. While a Cluster moves their slot, some of them are on the one node and some on
 * the other, and a step whose declared key is there would run on half of an account. So each declares one more key, which
 * never exists: of several keys of which one is missing Redis answers TRYAGAIN until the slot has moved as a whole
 * (Redis Cluster specification, "Multi-key operations"), and ioredis asks again.
 *
 * The scripts are those of `loadScripts(1)`.
 */
export function guardSteps(store: Cluster): Cluster {
  for (const [name, { keys, guarded: isGuarded }] of Object.entries(STEPS)) {
    if (!isGuarded) continue
    for (const method of [name, `${name}Buffer`]) {
      const send = Reflect.get(store, method) as (...args: Argument[]) => unknown
      const guarded = (...args: Argument[]) => {
        if (keys !== 'first argument') return send.call(store, ...withGuard(args, keys))
        const [count, ...others] = args
        return send.call(store, Number(count) + 1, ...withGuard(others, Number(count)))
      }
      Reflect.set(store, method, guarded)
    }
  }
  return store
}

function withGuard(args: readonly Argument[], keys: number): Argument[] {
  return [...args.slice(0, keys), guardBeside(String(args[0])), ...args.slice(keys)]
}

/** A key of the same slot. */
function guardBeside(key: string): string {
  return `${key.slice(0, key.indexOf('}') + 1)}:guard`
}
