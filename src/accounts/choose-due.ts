/** An account whose token is due. Times in ms; 0 where it has never had an access token. */
export interface DueToken {
  hubId: number
  obtainedAt: number
  expiresAt: number
  /** `failing`: its last attempts failed, in any state. `new`: it was imported and never refreshed. */
  lane: 'healthy' | 'failing' | 'new'
}

/** Share of the places that failing and new accounts may take while healthy ones wait. */
const SHARE_OF_OTHERS = 0.25

/** Share of its life that a healthy account's token has left when it goes before all others. */
const LAST_PART = 0.25

/**
 * Accounts that go first when not all can: the nearest to expiry. Failing accounts (long expired, many of them dead)
 * and new ones would always be the nearest, so together they get a quarter of the places, and all that healthy ones
 * leave; while one of the healthy is about to expire, one place is enough.
 */
export function chooseDue(due: readonly DueToken[], places: number, now: number): DueToken[] {
  const nearest = (lane: DueToken['lane']) =>
    due.filter((token) => token.lane === lane).sort((a, b) => a.expiresAt - b.expiresAt)
  const healthy = nearest('healthy')
  const others = inTurns(nearest('failing'), nearest('new'))
  const share = healthy.some((token) => isUrgent(token, now)) ? 1 : Math.floor(places * SHARE_OF_OTHERS)
  const forHealthy = Math.max(places - share, places - others.length, Math.min(places, 1))
  const taken = healthy.slice(0, forHealthy)
  return [...taken, ...others.slice(0, places - taken.length)]
}

function isUrgent({ obtainedAt, expiresAt }: DueToken, now: number): boolean {
  return expiresAt - now < (expiresAt - obtainedAt) * LAST_PART
}

/**
 * Accounts to try while nothing works: any, healthy ones first. Always the nearest to expiry would be the same one or
 * two again and again, and if those are dead, the end of the trouble would never be seen.
 */
export function chooseProbe(due: readonly DueToken[], random: number): DueToken[] {
  const healthy = due.filter(({ lane }) => lane === 'healthy')
  const some = healthy.length > 0 ? healthy : due
  return some.slice(Math.floor(random * some.length)).slice(0, 1)
}

function inTurns<T>(some: readonly T[], more: readonly T[]): T[] {
  const turns = Array.from({ length: Math.max(some.length, more.length) }, (_, n) => [some[n], more[n]])
  return turns.flat().filter((one) => one !== undefined)
}
