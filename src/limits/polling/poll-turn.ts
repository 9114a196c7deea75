/** Why an account is polled next when it is. Times are ms since 1970, series by their id. */
export type Because =
  | Near
  | Rising
  /** The last change of its numbers. */
  | { is: 'changed'; at: number }
  /** Its first polls: it gets a phase of its own. */
  | { is: 'new' }
  /** Its regular turn: nothing is near a threshold, rising or just changed, or that asks for none that comes sooner. */
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

/**
 * One short line, because every account has one: `n9 1763719200 wep 1763715600 930 1000 95 overall`. Whole seconds are
 * enough, and above 64 bytes Redis would keep the whole record in a dearer form.
 */
export function encodeTurn({ regularAt, urgency, because }: PollTurn): string {
  const [mark, wish] = because.is === 'budget' ? [PUT_OFF, because.instead] : ['', because]
  return [`${mark}${CODES[wish.is]}${Math.round(urgency * 9)}`, seconds(regularAt), ...factsOf(wish)].join(' ')
}

/** Undefined for what is none: the account then has its turn when it is due. */
export function decodeTurn(stored: string | undefined): PollTurn | undefined {
  const [, mark, code, urgency, regularAt, facts = ''] = TURN.exec(stored ?? '') ?? []
  const wish = readWish(code, facts)
  if (wish === undefined) return undefined
  const because: Because = mark === PUT_OFF ? { is: 'budget', instead: wish } : wish
  return { regularAt: time(regularAt), urgency: Number(urgency) / 9, because }
}

/** What a poll wishes for, if there is room. */
type Wish = Exclude<Because, { is: 'budget' }>

const CODES = {
  ...{ near: 'n', rising: 'r', changed: 'c', new: 'f', still: 's', failed: 'x', told: 't' },
} as const satisfies Record<Wish['is'], string>
/** Stands before the code of a wish that the call budget had no room for. */
const PUT_OFF = 'b'

const LEVELS = { w: 'warning', c: 'critical' } as const
const TARGETS = { ...LEVELS, l: 'limit' } as const
const MOVES = { e: 'enter', l: 'leave' } as const
const ASKS = { p: 'percent', c: 'count', r: 'remaining' } as const

const NUMBER = String.raw`(-?\d{1,16}(?:\.\d{1,2})?)`
const TURN = /^(b?)([a-z])(\d) (\d{1,12})(?: (.+))?$/s
const NEAR = new RegExp(String.raw`^([wc])([el])([pcr]) (\d{1,12}) ${NUMBER} (?:${NUMBER}|-) ${NUMBER} (.*)$`, 's')
const RISING = /^([wcl]) (\d{1,15}(?:\.\d{1,2})?) (.*)$/s
const CHANGED = /^(\d{1,12})$/

function factsOf(because: Wish): (string | number)[] {
  switch (because.is) {
    case 'near': {
      const { series, usage, limit, level, move, asks, of, since } = because
      return [`${level[0]}${move[0]}${asks[0]}`, seconds(since), rounded(usage), limit ?? '-', rounded(of), series]
    }
    case 'rising':
      return [because.to[0] ?? '', rounded(because.days), because.series]
    case 'changed':
      return [seconds(because.at)]
    default:
      return []
  }
}

function readWish(code: string | undefined, facts: string): Wish | undefined {
  switch (code) {
    case CODES.near:
      return readNear(facts)
    case CODES.rising:
      return readRising(facts)
    case CODES.changed: {
      const [, at] = CHANGED.exec(facts) ?? []
      return at === undefined ? undefined : { is: 'changed', at: time(at) }
    }
    case CODES.new:
      return facts === '' ? { is: 'new' } : undefined
    case CODES.still:
      return facts === '' ? { is: 'still' } : undefined
    case CODES.failed:
      return facts === '' ? { is: 'failed' } : undefined
    case CODES.told:
      return facts === '' ? { is: 'told' } : undefined
    default:
      return undefined
  }
}

function readNear(facts: string): Near | undefined {
  const found = NEAR.exec(facts)
  if (found === null) return undefined
  const [, level, move, asks, since, usage, limit, of, series = ''] = found
  return {
    ...{ is: 'near', series, usage: Number(usage), limit: limit === undefined ? null : Number(limit) },
    ...{ level: LEVELS[level as 'w'], move: MOVES[move as 'e'], asks: ASKS[asks as 'p'] },
    ...{ of: Number(of), since: time(since) },
  }
}

function readRising(facts: string): Rising | undefined {
  const found = RISING.exec(facts)
  if (found === null) return undefined
  const [, to, days, series = ''] = found
  return { is: 'rising', series, days: Number(days), to: TARGETS[to as 'w'] }
}

function seconds(ms: number): number {
  return Math.floor(ms / 1_000)
}

function time(stored: string | undefined): number {
  return Number(stored) * 1_000
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100
}
