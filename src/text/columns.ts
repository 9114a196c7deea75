/** A column is its heading, or what else is to be known of it where a terminal is too narrow. */
export type Column = string | KnownColumn

export interface KnownColumn {
  title: string
  /** Never cut: half an id or half a number is of no use. */
  isWhole?: boolean
  /** Goes on below like a sentence, in less room: any part of it may distinguish it from the others. */
  isNamed?: boolean
  /** Left out where there is no room for all, the last ones first. */
  isSpare?: boolean
  /** At the right, so that digits of one worth are below each other. */
  isNumber?: boolean
  /** A level or a state, shown in its colour. */
  isColoured?: boolean
  /** Sentences: they go on below instead of being cut. */
  isProse?: boolean
  /** Sentences that get lines of their own below their row where a terminal has no room for all beside each other. */
  isBelow?: boolean
}

export function known(column: Column): KnownColumn {
  return typeof column === 'string' ? { title: column } : column
}

export const whole = (column: Column): Column => ({ ...known(column), isWhole: true })
export const named = (title: string): Column => ({ title, isNamed: true })
export const prose = (title: string): Column => ({ title, isProse: true })
export const below = (title: string): Column => ({ title, isProse: true, isBelow: true })
export const spare = (column: Column): Column => ({ ...known(column), isSpare: true })
export const number = (title: string): Column => ({ title, isNumber: true, isWhole: true })
export const state = (title: string): Column => ({ title, isColoured: true, isWhole: true })
