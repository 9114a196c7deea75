import type { Fault } from './faults.ts'
import type { Mood, Rotation } from './provider.ts'

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
  | 'restart'
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
  /** Of the provider, at the beginning. */
  mood?: Mood
  /** Time passes from one that begins something to the next. */
  rarely?: boolean
  /** A message waits for no others: most are sent while things go wrong. */
  hurried?: boolean
  /** No message is sent in the first minutes. */
  quiet?: boolean
  /** What was told may be told again. */
  loses?: boolean
  /** Daemons are given a new key first, one after the other, and what is stored is encrypted anew. */
  rekeys?: boolean
  /** Clocks of daemons are hours apart from the beginning, and nobody sets them right. */
  apart?: boolean
  /** Each daemon is killed after so many of its calls as the seed says. */
  dies?: boolean
  actors: readonly Actor[]
  faults: readonly Fault[]
}

const rotations = ['same', 'rotating', 'overlapping'] as const
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
const inMasses = ['use', 'use', 'poll all', 'poll', 'sweep alerts', 'sweep alerts', 'sweep alerts'] as const
const installing = [
  'connect',
  'connect',
  'connect',
  'sweep grants',
  'sweep grants',
  'sweep grants',
  'sweep grants',
  'uninstall',
  'refresh now',
] as const
const undoing = ['connect', 'connect', 'uninstall', 'uninstall', 'refresh now', 'refresh now'] as const
const rekeying = ['import', 'refresh now', 'refresh now', 'reload', 'reload', 'reload', 'rekey', 'rekey'] as const
const wrongClocks = ['clock hours apart', 'clock hours apart', 'time jump', 'late', 'death'] as const

function accounts(actors: readonly Actor[], faults: readonly Fault[], more: Partial<Mix> = {}): Mix {
  return { rotations, actors, faults, ...more }
}

function alerts(actors: readonly Actor[], faults: readonly Fault[], more: Partial<Mix> = {}): Mix {
  return { rotations: ['same'], connected: true, alerts: true, actors, faults, ...more }
}

// A new refresh token comes with each refresh.
const rotate = { rotations: ['rotating', 'overlapping'], connected: true } as const

export const MIXES = {
  races: accounts(everybody, []),
  'lost answers': accounts(everybody, ['answer lost', 'late']),
  deaths: accounts(everybody, ['death', 'late', 'provider answer lost', 'provider away']),
  'a kill after each call': accounts(everybody, ['late', 'provider away'], { dies: true, parks: true }),
  restarts: accounts([...everybody, 'restart', 'restart'], ['late', 'writes refused', 'death'], { connected: true }),
  'time jumps': accounts(everybody, ['time jump', 'late', 'provider away']),
  clocks: accounts(everybody, ['clock apart', 'clock apart', 'clock of Redis', 'late', 'death'], { connected: true }),
  'clocks hours apart': accounts(everybody, wrongClocks, { connected: true }),
  'clock of Redis hours ahead': accounts(
    ['refresh now', 'sweep', 'sweep', 'connect'],
    ['clock of Redis hours ahead', 'late', 'death'],
    { connected: true },
  ),
  'clocks that stay apart': accounts(everybody, ['late', 'death', 'provider away'], { connected: true, apart: true }),
  'provider in trouble': accounts(everybody, ['provider mood', 'provider mood', 'time jump', 'death'], {
    connected: true,
    mostFaults: 12,
  }),
  'token endpoint': accounts(
    ['sweep', 'sweep', 'sweep', 'refresh now'],
    ['provider refuses', 'provider refuses', 'late'],
    {
      connected: true,
      many: true,
      mostActors: 60,
    },
  ),
  'crossing installs': accounts(['connect', 'connect', 'refresh now', 'sweep'], ['late'], { crossing: true }),
  // The install that is stored first may be the one that the provider takes: then only its refresh has the good token.
  'refreshes beside crossing installs': accounts(['connect', 'refresh now'], ['late', 'write late'], {
    rotations: ['rotating'],
    crossing: true,
    single: true,
    mostFaults: 16,
    mostActors: 8,
  }),
  'refused writes': accounts([...everybody, 'connect', 'sweep grants'], ['writes refused', 'late', 'provider away'], {
    parks: true,
    mostFaults: 6,
  }),
  // An answer may come when its account is uninstalled, or forgotten.
  'refreshes beside uninstalls': accounts(
    ['refresh now', 'refresh now', 'uninstall', 'run uninstall', 'run uninstall', 'connect'],
    ['late', 'late', 'late', 'time jump', 'step again'],
    { ...rotate, single: true, mostFaults: 16, mostActors: 24 },
  ),
  'parked grants': accounts(
    installing,
    ['provider away', 'provider answer lost', 'death', 'late', 'step again', 'provider mood', 'provider mood'],
    { parks: true, mostFaults: 12, mostActors: 16 },
  ),
  'parked grants for long': accounts(
    ['connect', 'connect', 'sweep grants', 'sweep grants', 'sweep grants', 'sweep grants'],
    ['provider away', 'late'],
    { parks: true, mood: 'knows no owner', mostFaults: 12, mostActors: 20, rarely: true },
  ),
  'links for another account': accounts(
    ['connect by the other link', 'uninstall', 'run uninstall', 'refresh now', 'sweep', 'sweep grants'],
    ['late', 'provider away', 'step again'],
    { connected: true, parks: true },
  ),
  // A step that was done is done once more, when others have done much since.
  'steps again': accounts([...undoing, 'import', 'run uninstall'], ['step again'], {
    single: true,
    mostFaults: 6,
    mostActors: 16,
  }),
  // Nobody is told that an account was connected or uninstalled, and then it was not: of that only people can know.
  failover: accounts(['refresh now', 'refresh now', 'sweep'], ['failover', 'late', 'time jump'], rotate),
  'answers again': accounts(['refresh now', 'refresh now', 'sweep'], ['step again', 'step again', 'failover'], {
    ...rotate,
    single: true,
    mostFaults: 8,
  }),
  rekey: accounts([...rekeying, 'connect', 'sweep'], most, { connected: true, rekeys: true }),
  'rekey beside imports': accounts(['import', 'import', ...rekeying], ['late', 'answer lost', 'clock of Redis'], {
    connected: true,
    rekeys: true,
    mostActors: 16,
  }),
  'rekey beside what is late': accounts(['import', 'import', 'reload', 'rekey', 'rekey', 'rekey'], ['write late'], {
    connected: true,
    rekeys: true,
    mostActors: 16,
    mostFaults: 12,
    rarely: true,
  }),
  everything: accounts(
    [...everybody, 'restart'],
    [...most, 'step again', 'writes refused', 'provider mood', 'clock of Redis'],
    { parks: true },
  ),
  alerts: alerts(alerting, [...most, 'provider answer lost', 'provider away', 'provider away']),
  'alerts and failover': alerts(alerting, ['failover', 'late', 'answer lost', 'time jump'], {
    loses: true,
  }),
  receivers: alerts(
    [...alerting, 'move a receiver'],
    ['receiver mood', 'receiver mood', 'receiver mood', 'provider answer lost', 'late', 'death'],
    { mostFaults: 16, mostActors: 48, hurried: true },
  ),
  masses: alerts(inMasses, ['answer lost', 'late', 'death', 'provider away', 'time jump'], { many: true }),
  'held back': alerts(holding, ['answer lost', 'late', 'death', 'time jump', 'provider away'], { quiet: true }),
  'silences that are ended': alerts(
    ['poll', 'sweep alerts', 'sweep alerts', 'silence', 'end silence', 'end silence'],
    ['late', 'late', 'provider away', 'time jump'],
    { single: true, hurried: true, mostActors: 40 },
  ),
  'held back in masses': alerts([...holding, ...inMasses], ['answer lost', 'late', 'clock apart', 'provider away'], {
    many: true,
    quiet: true,
  }),
  'other groups': alerts(['poll', 'poll', 'sweep alerts', 'sweep alerts', 'other groups'], ['late', 'provider away'], {
    single: true,
    mostActors: 40,
  }),
  'alerts and uninstalls': alerts(
    ['poll', 'poll', 'poll', 'uninstall', 'connect', 'run uninstall', 'sweep alerts', 'sweep'],
    ['late', 'answer lost', 'provider away'],
    { single: true, hurried: true, mostActors: 32 },
  ),
  'alerts and clocks': alerts(holding, ['clock far apart', 'clock far apart', 'clock of Redis', 'late'], {
    mostFaults: 8,
  }),
  'alerts and clocks hours apart': alerts(holding, wrongClocks),
  'alerts and clocks that stay apart': alerts(alerting, ['late', 'death'], { apart: true }),
  'alerts and refused writes': alerts(
    [...alerting, 'other thresholds'],
    ['writes refused', 'writes refused', 'late', 'receiver mood'],
    { mostFaults: 6 },
  ),
} satisfies Record<string, Mix>

export type MixName = keyof typeof MIXES
