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
  | 'sweep grants'
  | 'connect by the other link'
  | 'use'
  | 'poll all'
  | 'silence'
  | 'end silence'
  | 'acknowledge'
  | 'move a receiver'
  | 'other thresholds'
  | 'other groups'
  | 'reload'
  | 'rekey'

/** What happens in a run, and what goes wrong. */
export interface Mix {
  rotations: readonly Rotation[]
  /** Every account is connected before anything goes wrong. */
  connected?: boolean
  /** The answer to a code may not name the account. */
  parks?: boolean
  /** Faults may come so often; 4 where nothing is said. */
  mostFaults?: number
  /** So many begin something; 12 where nothing is said. */
  mostActors?: number
  /** Whether an account may be installed twice at the same time. */
  crossing?: boolean
  /** In the end all accounts are polled, and all that was committed is told. */
  alerts?: boolean
  /** One account alone: what is done to it meets sooner. */
  single?: boolean
  /** As many accounts as make a mass, each with messages of its own. */
  many?: boolean
  /** No message is sent in the first minutes. */
  quiet?: boolean
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
const holding = [...alerting, 'poll', 'silence', 'end silence', 'acknowledge', 'other thresholds'] as const
const rotations = ['same', 'rotating', 'overlapping'] as const

export const MIXES = {
  races: { rotations, actors: everybody, faults: [] },
  'lost answers': { rotations, actors: everybody, faults: ['answer lost', 'late'] },
  deaths: { rotations, actors: everybody, faults: ['death', 'late', 'provider answer lost', 'provider away'] },
  'crossing installs': {
    rotations,
    crossing: true,
    actors: ['connect', 'connect', 'refresh now', 'sweep'],
    faults: ['late'],
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
    rotations: ['same'],
    connected: true,
    alerts: true,
    actors: alerting,
    faults: [...most, 'provider answer lost', 'provider away', 'provider away'],
  },
  'alerts and failover': {
    rotations: ['same'],
    connected: true,
    alerts: true,
    loses: true,
    actors: alerting,
    faults: ['failover of deliveries', 'late', 'answer lost', 'time jump'],
  },
  rekey: {
    rotations,
    connected: true,
    rekeys: true,
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
  // A step that was done is done once more, when others have done much since.
  'steps again': {
    rotations,
    single: true,
    faults: ['step again'],
    mostFaults: 6,
    mostActors: 16,
    actors: ['connect', 'connect', 'uninstall', 'uninstall', 'refresh now', 'refresh now', 'run uninstall'],
  },
  'answers again': {
    rotations: ['rotating', 'overlapping'],
    connected: true,
    single: true,
    mostFaults: 8,
    actors: ['refresh now', 'refresh now', 'sweep'],
    faults: ['step again', 'step again', 'failover'],
  },
  clocks: {
    rotations,
    connected: true,
    actors: everybody,
    mostFaults: 8,
    faults: ['clock apart', 'clock apart', 'clock of Redis', 'late', 'death'],
  },
  'refused writes': {
    rotations,
    parks: true,
    actors: [...everybody, 'connect', 'sweep grants'],
    mostFaults: 6,
    faults: ['writes refused', 'writes refused', 'late', 'provider away'],
  },
  'parked grants': {
    rotations,
    parks: true,
    actors: ['connect', 'connect', 'connect', 'sweep grants', 'sweep grants', 'uninstall', 'refresh now'],
    mostFaults: 8,
    faults: ['provider away', 'provider answer lost', 'death', 'late', 'step again', 'provider mood'],
  },
  'links for another account': {
    rotations,
    connected: true,
    parks: true,
    actors: ['connect by the other link', 'uninstall', 'run uninstall', 'refresh now', 'sweep', 'sweep grants'],
    faults: ['late', 'provider away', 'step again'],
  },
  'provider in trouble': {
    rotations,
    connected: true,
    actors: everybody,
    mostFaults: 12,
    faults: ['provider mood', 'provider mood', 'provider mood', 'time jump', 'death'],
  },
  'rekey beside imports': {
    rotations,
    connected: true,
    rekeys: true,
    mostActors: 16,
    actors: ['import', 'import', 'import', 'refresh now', 'reload', 'rekey', 'rekey'],
    faults: ['late', 'answer lost', 'clock of Redis'],
  },
  receivers: {
    rotations: ['same'],
    connected: true,
    alerts: true,
    actors: [...alerting, 'move a receiver'],
    mostFaults: 12,
    faults: ['receiver mood', 'receiver mood', 'receiver mood', 'provider answer lost', 'late', 'death'],
  },
  masses: {
    rotations: ['same'],
    connected: true,
    alerts: true,
    many: true,
    actors: ['use', 'use', 'poll all', 'poll', 'sweep alerts', 'sweep alerts', 'sweep alerts'],
    faults: ['answer lost', 'late', 'death', 'provider away', 'time jump'],
  },
  'held back': {
    rotations: ['same'],
    connected: true,
    alerts: true,
    quiet: true,
    actors: holding,
    faults: ['answer lost', 'late', 'death', 'time jump', 'provider away'],
  },
  'held back in masses': {
    rotations: ['same'],
    connected: true,
    alerts: true,
    many: true,
    quiet: true,
    actors: [...holding, 'use', 'poll all', 'other thresholds'],
    faults: ['answer lost', 'late', 'clock apart', 'provider away'],
  },
  'other groups': {
    rotations: ['same'],
    connected: true,
    alerts: true,
    single: true,
    mostActors: 40,
    actors: ['poll', 'poll', 'sweep alerts', 'sweep alerts', 'sweep alerts', 'other groups'],
    faults: ['late', 'provider away'],
  },
  'alerts and clocks': {
    rotations: ['same'],
    connected: true,
    alerts: true,
    actors: holding,
    mostFaults: 8,
    faults: ['clock far apart', 'clock far apart', 'clock of Redis', 'late'],
  },
  'alerts and refused writes': {
    rotations: ['same'],
    connected: true,
    alerts: true,
    actors: [...alerting, 'other thresholds'],
    mostFaults: 6,
    faults: ['writes refused', 'writes refused', 'late', 'receiver mood'],
  },
  everything: {
    rotations,
    actors: everybody,
    parks: true,
    faults: [...most, 'step again', 'writes refused', 'provider mood', 'clock of Redis'],
  },
} satisfies Record<string, Mix>

export type MixName = keyof typeof MIXES
