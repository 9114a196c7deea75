import { createHash } from 'node:crypto'
import { NOBODY } from '../redis/steps.ts'
import type { AlertKind, AlertLevel } from './alert.ts'
import type { Acknowledged, SeriesState } from './series-state.ts'

/** The field of an account's token alert among its alert states. */
export const TOKEN_FIELD = 'token'
/** The field of the alert about what keeps its limits from being read. */
export const POLL_FIELD = 'poll'
/** What the field of a receiver's alert starts with, among the alerts of the whole installation. */
export const DELIVERY_FIELD = 'delivery/'

/**
 * States of alerts as they stand in Redis: a field per series (or `token`, `poll`), a JSON list because an account may have many
 * of them.
 */
export function encodeState(state: SeriesState): string {
  const { level, rule, since, transitions, toldAt, said, pending, foreseen, cause, acknowledged, wasAtBoth } = state
  const list = [level, rule, since, transitions, toldAt, said, pending]
  // One of the two at most: the first is about numbers, the second about an account that can't be read.
  const more = foreseen ?? cause
  const others = [more, acknowledged && acknowledgedList(acknowledged), wasAtBoth]
  const last = others.findLastIndex((other) => other !== undefined)
  return JSON.stringify([...list, ...others.slice(0, last + 1)])
}

export function decodeState(stored: string): SeriesState {
  const [level, rule, since, transitions, toldAt, said, pending, more, acknowledged, wasAtBoth] = JSON.parse(stored)
  const state: SeriesState = { level, rule, since, transitions, toldAt, said, pending }
  if (more === true) state.foreseen = more
  else if (more != null) state.cause = more
  if (acknowledged != null) state.acknowledged = acknowledgedOf(acknowledged)
  if (wasAtBoth === true) state.wasAtBoth = wasAtBoth
  return state
}

type AcknowledgedList = [
  at: number,
  until: number,
  by: string,
  comment: string | null,
  usage: number | null,
  percent: number | null,
  remaining: number | null,
]

function acknowledgedList({ at, until, by, comment, usage, percent, remaining }: Acknowledged): AcknowledgedList {
  return [at, until, by, comment ?? null, usage ?? null, percent ?? null, remaining ?? null]
}

function acknowledgedOf([at, until, by, comment, usage, percent, remaining]: AcknowledgedList): Acknowledged {
  return {
    ...{ at, by, until },
    ...(comment === null ? {} : { comment }),
    ...(usage === null ? {} : { usage }),
    ...(percent === null ? {} : { percent }),
    ...(remaining === null ? {} : { remaining }),
  }
}

/** With its first message. For alerts about other things than a number: there is nothing that was read. */
export function openedState(level: AlertLevel, rule: string, now: number): SeriesState {
  return { level, rule, since: now, transitions: 1, toldAt: now, said: null, pending: null }
}

/** With one more message. */
export function toldState(before: SeriesState, now: number): SeriesState {
  return { ...before, transitions: before.transitions + 1, toldAt: now }
}

/** At the level that holds from now on; one that is open may have been at the other before. */
export function atLevel(before: SeriesState, level: AlertLevel): SeriesState {
  if (before.level === 'ok' || before.level === level) return { ...before, level }
  return { ...before, level, wasAtBoth: true }
}

/** What an alert is about, from its field. */
export function kindOf(field: string): Extract<AlertKind, 'token' | 'poll' | 'limit'> {
  return field === TOKEN_FIELD || field === POLL_FIELD ? field : 'limit'
}

/** What an open alert is about: under nobody's account are those of receivers and of the whole fleet. */
export function openKindOf(hubId: number, field: string): Exclude<AlertKind, 'limit-changed' | 'test'> {
  if (hubId !== NOBODY) return kindOf(field)
  return field.startsWith(DELIVERY_FIELD) ? 'delivery' : 'fleet'
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
