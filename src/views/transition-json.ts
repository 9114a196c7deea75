import type { TransitionRef } from '../alerts/ledger/ledger.ts'
import type { LoggedTransition } from './alert-log.ts'
import type { TransitionShape } from './shapes/alert.ts'

/** A transition as API and command line tell it; `held`: why those that are pending are held back. */
export function transitionJson(one: LoggedTransition, held: ReadonlyMap<TransitionRef, string>): TransitionShape {
  const { transition, alert, fate } = one
  const why = whyOf(one, held)
  return { at: alert.measuredAt, transition, fate: fate.is, ...(why === '' ? {} : { why }), alert }
}

/** What it ended by, or what holds it back; '' where there is nothing to say. */
export function whyOf({ transition, fate }: LoggedTransition, held: ReadonlyMap<TransitionRef, string>): string {
  return 'why' in fate ? fate.why : (held.get(transition) ?? '')
}
