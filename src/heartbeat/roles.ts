/**
 * What a daemon does: `clock` starts the sweeps, `worker` does the work, `web` serves people, programs and the
 * install page. Probes and metrics every daemon serves.
 */
export const ROLES = ['clock', 'worker', 'web'] as const
export type Role = (typeof ROLES)[number]

export const isRole = (text: string): text is Role => (ROLES as readonly string[]).includes(text)

/** A daemon that works ticks for itself: without a word from the others it sweeps all the same. */
export const ticks = (roles: ReadonlySet<Role>): boolean => roles.has('clock') || roles.has('worker')

/** A sentence for each role that no daemon has; none where no daemon runs at all. */
export function leftUndone(atWork: readonly { roles: readonly string[] }[]): string[] {
  if (atWork.length === 0) return []
  return ROLES.filter((role) => !atWork.some(({ roles }) => roles.includes(role))).flatMap(
    (role) => WITHOUT[role] ?? [],
  )
}

/** Without pages a fleet may well be: it has a command line. */
const WITHOUT: Partial<Record<Role, string>> = {
  clock: 'NO CLOCK is at work: workers sweep by their own ticks only (plimsoll start --roles clock)',
  worker: 'NO WORKER is at work: nothing is refreshed, polled or sent (plimsoll start --roles worker)',
}
