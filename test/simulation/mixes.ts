import type { Fault } from './faults.ts'
import type { Rotation } from './provider.ts'

export type Actor =
  | 'connect'
  | 'import'
  | 'refresh'
  | 'refresh now'
  | 'uninstall'
  | 'run uninstall'
  | 'sweep'
  | 'poll'
  | 'sweep alerts'
  | 'reload'
  | 'rekey'

/** What happens in a run, and what goes wrong. */
export interface Mix {
  rotations: readonly Rotation[]
  /** Every account is connected before anything goes wrong. */
  connected?: boolean
  /** Whether an account may be installed twice at the same time. */
  crossing?: boolean
  /** In the end all accounts are polled, and all that was committed is told. */
  alerts?: boolean
  /** What was told may be told again. */
  loses?: boolean
  /** Daemons are given a new key first, one after the other, and what is stored is encrypted anew. */
  rekeys?: boolean
  actors: readonly Actor[]
  faults: readonly Fault[]
}

const everybody = [
  'connect',
  'import',
  'refresh',
  'refresh now',
  'uninstall',
  'run uninstall',
  'sweep',
  'sweep',
] as const
const most = ['answer lost', 'late', 'death', 'provider answer lost', 'provider away', 'time jump'] as const
const alerting = ['poll', 'poll', 'poll', 'sweep alerts', 'sweep alerts', 'sweep alerts', 'sweep'] as const
const rotations = ['same', 'rotating', 'overlapping'] as const

export const MIXES = {
  races: { rotations, actors: everybody, faults: [] },
  'lost answers': { rotations, actors: everybody, faults: ['answer lost', 'late'] },
  deaths: { rotations, actors: everybody, faults: ['death', 'late', 'provider answer lost', 'provider away'] },
  'crossing installs': {
    ...{ rotations, crossing: true, actors: ['connect', 'connect', 'refresh now', 'sweep'], faults: ['late'] },
  },
  'time jumps': { rotations, actors: everybody, faults: ['time jump', 'late', 'provider away'] },
  // Nobody is told that an account was connected or uninstalled, and then it was not: of that only people can know.
  failover: {
    rotations: ['rotating', 'overlapping'],
    connected: true,
    actors: ['refresh now', 'refresh now', 'sweep'],
    faults: ['failover', 'late', 'time jump'],
  },
  alerts: {
    ...{ rotations: ['same'], connected: true, alerts: true, actors: alerting },
    faults: [...most, 'provider answer lost', 'provider away', 'provider away'],
  },
  'alerts and failover': {
    ...{ rotations: ['same'], connected: true, alerts: true, loses: true, actors: alerting },
    faults: ['failover of deliveries', 'late', 'answer lost', 'time jump'],
  },
  rekey: {
    ...{ rotations, connected: true, rekeys: true },
    actors: [
      'connect',
      'import',
      'refresh now',
      'refresh now',
      'reload',
      'reload',
      'reload',
      'rekey',
      'rekey',
      'sweep',
    ],
    faults: most,
  },
  everything: {
    ...{ rotations, actors: everybody },
    faults: most,
  },
} satisfies Record<string, Mix>

export type MixName = keyof typeof MIXES

/** Chance that is the same for the same seed. */
export class Dice {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 to below 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }

  below(count: number): number {
    return Math.floor(this.next() * count)
  }

  chance(share: number): boolean {
    return this.next() < share
  }

  pick<T>(from: readonly T[]): T {
    const picked = from[this.below(from.length)]
    if (picked === undefined) throw new Error('nothing to pick from')
    return picked
  }
}
