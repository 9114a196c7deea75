import type { Silence } from './silence.ts'
import type { SilenceStore } from './silence-store.ts'

/** What was held back, and by what it is released. */
export interface HeldAlerts {
  /** Judges again, now, what a silence held back: whatever still fires is told. */
  lookAgain(now: number): Promise<void>
}

export type EndedSilence = { is: 'ended' | 'over'; silence: Silence } | { is: 'unknown' }

/** Ends a silence before its time, and lets what it held back be told. */
export async function endSilence(
  { silences, held }: { silences: SilenceStore; held: HeldAlerts },
  id: string,
  now: number,
): Promise<EndedSilence> {
  const ended = await silences.end(id, now)
  // Again where it was over already: whoever ended it may not have come this far.
  if (ended.is !== 'unknown') await held.lookAgain(now)
  return ended
}
