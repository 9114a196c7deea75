import type { Store } from '../../src/redis/connect.ts'
import { type LineProcess, startProcess } from '../support/child-process.ts'
import { cpuSecondsOf } from '../support/process-cost.ts'
import type { Run, Sides } from './figure.ts'

/** Accounts that go through a cycle together, and what the far side answers them. */
export interface Lot {
  accounts: number
  /** Calls under way at a time. */
  inFlight: number
  /** Of the accounts, those whose tokens are refreshed. */
  refreshShare: number
  /** Whether their limits are read, too. */
  polls: boolean
  answers: Answers
}

export interface Answers {
  /** Share of the answers in which a number changed since the same account's last one. */
  changed: number
  /** Every answer differs in a field that is never read, so that none can be skipped by its bytes. */
  freshBytes?: boolean
  latencyMs?: number
}

/** Calls that a far side answered: tokens, and all reports of an account; the first and the last of them since `begin`. */
export interface Served {
  refreshes: number
  polls: number
  firstAt: number
  lastAt: number
}

/** A process that takes a lot of accounts through a cycle in each round; it lives through all rounds, as a daemon lives for weeks. */
export interface Side {
  pid: number
  store: Store
  farSide: LineProcess
  accounts: number
  /** Not measured. */
  warmUpRounds: number
  prepare(): Promise<void>
  work(): Promise<void>
  close(): Promise<void>
}

/** Ends of the paths that a poll asks for, in its order. */
export const PATHS = [
  'custom-properties',
  'associations/records/0-1/0-2',
  'associations/records/0-2/0-1',
  'associations/records/0-1/0-3',
]

export function startFarSide(answers: Answers): Promise<LineProcess> {
  return startProcess(new URL('far-side.ts', import.meta.url), [JSON.stringify(answers)])
}

export async function servedBy(farSide: LineProcess, line?: 'begin'): Promise<Served> {
  return JSON.parse(await farSide.ask(line)) as Served
}

export function isToBeRefreshed(place: number, share: number): boolean {
  return Math.floor((place + 1) * share) > Math.floor(place * share)
}

/** Places of the values that `round` yields. */
export const PER_CPU_SECOND = 0
export const CPU_MICROS = 1
export const REDIS_MICROS = 2
export const PER_WALL_SECOND = 3

type Open = () => Promise<Side>

/** Each is opened when its first round comes. */
export function takeTurns(ours: Open, references: Record<string, Open>): Sides {
  const closing: (() => Promise<void>)[] = []
  const runOf = (open: Open): Run => {
    let side: Side | undefined
    return async () => {
      if (side === undefined) {
        side = await open()
        closing.push(side.close)
        for (let n = 0; n < side.warmUpRounds; n++) await round(side)
      }
      return round(side)
    }
  }
  return {
    ours: runOf(ours),
    references: Object.fromEntries(Object.entries(references).map(([name, open]) => [name, runOf(open)])),
    close: async () => {
      for (const close of closing) await close()
    },
  }
}

/** CPU as the system and Redis count it, the time from the first call to the last as the far side does. */
async function round(side: Side): Promise<number[]> {
  const { pid, store, farSide, accounts } = side
  await side.prepare()
  await servedBy(farSide, 'begin')
  const before = { cpu: cpuSecondsOf(pid), redis: await redisCpuSeconds(store) }
  await side.work()
  const { firstAt, lastAt } = await servedBy(farSide)
  const cpu = cpuSecondsOf(pid) - before.cpu
  const redis = (await redisCpuSeconds(store)) - before.redis
  return [accounts / cpu, (cpu * 1e6) / accounts, (redis * 1e6) / accounts, (accounts * 1_000) / (lastAt - firstAt)]
}

async function redisCpuSeconds(store: Store): Promise<number> {
  const text = await store.info('cpu')
  const read = (name: string) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(text)?.[1])
  return read('used_cpu_user') + read('used_cpu_sys')
}
