import { alertOf } from '../alerts/alert.ts'
import { decodeHeld, type HeldBecause, heldField } from '../alerts/groups/group.ts'
import type { TransitionRef } from '../alerts/ledger/ledger.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { formatMoment } from '../text/format-time.ts'
import type { LoggedTransition } from './alert-log.ts'

interface Deps {
  store: Store
  keys: Keys
  /** Names of all receivers. */
  receivers: readonly string[]
}

/** Asked for in one call. */
const MOST_FIELDS = 500

/** Of the transitions that are pending, why they are held back, and from whom; those that are only on their way have no entry. */
export async function whyPending(
  { store, keys, receivers }: Deps,
  transitions: readonly LoggedTransition[],
): Promise<Map<TransitionRef, string>> {
  const places = transitions
    .filter(({ fate }) => fate.is === 'pending')
    .flatMap(({ transition, alert }) =>
      receivers.map((receiver) => ({ transition, receiver, field: heldField(receiver, alertOf(alert)) })),
    )
  const why = new Map<TransitionRef, string>()
  for (let first = 0; first < places.length; first += MOST_FIELDS) {
    const some = places.slice(first, first + MOST_FIELDS)
    const stored = await store.hmget(keys.delivery.held, ...some.map(({ field }) => field))
    some.forEach(({ transition, receiver }, n) => {
      const text = stored[n]
      if (text == null) return
      const { of, held } = decodeHeld(text)
      if (!of.some(([ref]) => ref === transition)) return
      const before = why.get(transition)
      why.set(transition, `${before === undefined ? '' : `${before}; `}${untilText(held)} (${receiver})`)
    })
  }
  return why
}

function untilText(held: HeldBecause): string {
  const until = held.is === 'fleet' ? '' : ` until ${formatMoment(held.until)}`
  return `${heldText(held)}${until}`
}

export function heldText(held: HeldBecause): string {
  switch (held.is) {
    case 'silence':
      return `silence ${held.id}`
    case 'quiet-hours':
      return 'quiet hours'
    case 'fleet':
      return `the alert about all accounts (${held.trouble})`
  }
}
