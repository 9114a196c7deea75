import { createHash } from 'node:crypto'
import type { AlertKind, AlertLevel } from './alert.ts'
import type { SeriesState } from './evaluation/evaluate.ts'

/** The field of an account's token alert among its alert states. */
export const TOKEN_FIELD = 'token'
/** The field of the alert about what keeps its limits from being read. */
export const POLL_FIELD = 'poll'

/**
 * States of alerts as they stand in Redis: a field per series (or `token`, `poll`), a JSON list because an account may have many
 * of them.
 */
export function encodeState(state: SeriesState): string {
  const { level, rule, since, transitions, toldAt, said, pending, foreseen, cause } = state
  const list: unknown[] = [level, rule, since, transitions, toldAt, said, pending]
  // One of the two at most: the first is about numbers, the second about an account that can't be read.
  const more = foreseen ?? cause
  return JSON.stringify(more === undefined ? list : [...list, more])
}

export function decodeState(stored: string): SeriesState {
  const [level, rule, since, transitions, toldAt, said, pending, more] = JSON.parse(stored)
  const state = { level, rule, since, transitions, toldAt, said, pending }
  if (more === true) return { ...state, foreseen: more }
  return more === undefined ? state : { ...state, cause: more }
}

/** With its first message. For alerts about other things than a number: there is nothing that was read. */
export function openedState(level: AlertLevel, rule: string, now: number): SeriesState {
  return { level, rule, since: now, transitions: 1, toldAt: now, said: null, pending: null }
}

/** With one more message. */
export function toldState(before: SeriesState, now: number): SeriesState {
  return { ...before, transitions: before.transitions + 1, toldAt: now }
}

/** What an alert is about, from its field. */
export function kindOf(field: string): Extract<AlertKind, 'token' | 'poll' | 'limit'> {
  return field === TOKEN_FIELD || field === POLL_FIELD ? field : 'limit'
}

/** The alert's own id; it stays from opening to closing. */
export function alertId(hubId: number, field: string, since: number): string {
  return createHash('sha256').update(`${hubId}|${field}|${since}`).digest('hex').slice(0, 16)
}

/**
 * The id of one transition, as receivers get it. It follows from what is committed, so that a commit that is repeated -
 * because its answer was lost, because two workers polled at once - can't say the same thing under two ids.
 */
export function transitionId(hubId: number, field: string, state: SeriesState): string {
  return `${alertId(hubId, field, state.since)}-${state.transitions}`
}
