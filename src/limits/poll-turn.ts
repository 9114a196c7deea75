/** Why an account is polled next when it is. Times are ms since 1970, series by their id. */
export type Because =
  | Near
  | Rising
  /** The last change of its numbers. */
  | { is: 'changed'; at: number }
  /** Its first polls: it gets a phase of its own. */
  | { is: 'new' }
  /** Nothing is near a threshold, rising or just changed: its regular turn. */
  | { is: 'still' }
  /** The last poll failed. */
  | { is: 'failed' }
  /** The provider said how long to wait. */
  | { is: 'told' }
  /** The fleet's call budget had no room for it when it was due. */
  | { is: 'budget'; instead: Exclude<Because, { is: 'budget' }> }

/** A series stands near the moment in which a level is entered or left. */
export interface Near {
  is: 'near'
  series: string
  usage: number
  limit: number | null
  level: Level
  move: 'enter' | 'leave'
  /** What the condition asks of the series, and the number where the level is entered or left. */
  asks: 'percent' | 'count' | 'remaining'
  of: number
  /** Since when polls have found it there, ms. */
  since: number
}

/** At the pace of the last two readings a series reaches a level, or its limit, in so many days. */
export interface Rising {
  is: 'rising'
  series: string
  days: number
  to: Level | 'limit'
}

export type Level = 'warning' | 'critical'

/** The next poll of an account beside its moment, which stands in the due set. */
export interface PollTurn {
  /** When its regular turn is, ms; before that a poll is an early one. */
  regularAt: number
  /** How urgent an early poll is, 0 to 1. */
  urgency: number
  because: Because
}

/** A JSON list, because every account has one: `["n",1763719200000,9,"overall",93,100,"w","e","p",95,1763715600000]`. */
export function encodeTurn({ regularAt, urgency, because }: PollTurn): string {
  return JSON.stringify([CODES[because.is], Math.round(regularAt), Math.round(urgency * 9), ...factsOf(because)])
}

/** Undefined for what is none: the account then has its turn when it is due. */
export function decodeTurn(stored: string | undefined): PollTurn | undefined {
  const list = parseList(stored)
  if (list === undefined) return undefined
  const [code, regularAt, urgency, ...facts] = list
  const because = readBecause(code, facts)
  if (because === undefined || !isTime(regularAt) || !isNumber(urgency) || urgency < 0 || urgency > 9) return undefined
  return { regularAt, urgency: urgency / 9, because }
}

const CODES = {
  ...{ near: 'n', rising: 'r', changed: 'c', new: 'f', still: 's', failed: 'x', told: 't', budget: 'b' },
} as const satisfies Record<Because['is'], string>

const LEVELS = { w: 'warning', c: 'critical', l: 'limit' } as const
const MOVES = { e: 'enter', l: 'leave' } as const
const ASKS = { p: 'percent', c: 'count', r: 'remaining' } as const

function factsOf(because: Because): unknown[] {
  switch (because.is) {
    case 'near': {
      const { series, usage, limit, level, move, asks, of, since } = because
      return [series, usage, limit, level[0], move[0], asks[0], rounded(of), since]
    }
    case 'rising':
      return [because.series, rounded(because.days), because.to[0]]
    case 'changed':
      return [because.at]
    case 'budget':
      return [CODES[because.instead.is], ...factsOf(because.instead)]
    default:
      return []
  }
}

function readBecause(code: unknown, facts: readonly unknown[]): Because | undefined {
  if (code !== CODES.budget) return readWish(code, facts)
  const [of, ...rest] = facts
  const instead = readWish(of, rest)
  return instead === undefined ? undefined : { is: 'budget', instead }
}

function readWish(code: unknown, facts: readonly unknown[]): Exclude<Because, { is: 'budget' }> | undefined {
  switch (code) {
    case CODES.near:
      return facts.length === 8 ? readNear(facts) : undefined
    case CODES.rising:
      return facts.length === 3 ? readRising(facts) : undefined
    case CODES.changed: {
      const [at] = facts
      return facts.length === 1 && isTime(at) ? { is: 'changed', at } : undefined
    }
    case CODES.new:
      return facts.length === 0 ? { is: 'new' } : undefined
    case CODES.still:
      return facts.length === 0 ? { is: 'still' } : undefined
    case CODES.failed:
      return facts.length === 0 ? { is: 'failed' } : undefined
    case CODES.told:
      return facts.length === 0 ? { is: 'told' } : undefined
    default:
      return undefined
  }
}

function readNear([series, usage, limit, level, move, asks, of, since]: readonly unknown[]): Near | undefined {
  const known = { level: wordOf(LEVELS, level), move: wordOf(MOVES, move), asks: wordOf(ASKS, asks) }
  if (typeof series !== 'string' || !isNumber(usage) || !(limit === null || isNumber(limit)) || !isNumber(of)) return
  if (known.level === undefined || known.level === 'limit') return undefined
  if (known.move === undefined || known.asks === undefined || !isTime(since)) return undefined
  return { is: 'near', series, usage, limit, level: known.level, move: known.move, asks: known.asks, of, since }
}

function readRising([series, days, to]: readonly unknown[]): Rising | undefined {
  const level = wordOf(LEVELS, to)
  if (typeof series !== 'string' || !isNumber(days) || days < 0 || level === undefined) return undefined
  return { is: 'rising', series, days, to: level }
}

function wordOf<T extends Record<string, string>>(words: T, letter: unknown): T[keyof T] | undefined {
  return typeof letter === 'string' && Object.hasOwn(words, letter) ? words[letter as keyof T] : undefined
}

function parseList(stored: string | undefined): unknown[] | undefined {
  if (stored === undefined || stored === '') return undefined
  try {
    const value: unknown = JSON.parse(stored)
    return Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function isTime(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100
}
