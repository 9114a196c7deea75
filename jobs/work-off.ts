import type { DueKind } from '../src/redis/keys.ts'
import type { JobDeps } from './job-deps.ts'

/** While accounts are under way, others may come due. */
const LOOK_EVERY_MS = 250
/** More are claimed when so much of the places is taken at most: a claim for each account would cost as much as the rest. */
const MOST_TAKEN = 0.75

interface DueWork<Account> {
  /** Accounts under way at a time. */
  atOnce: number
  /** Up to so many that are due. */
  claim: (most: number) => Promise<readonly Account[]>
  work: (account: Account) => Promise<unknown>
  failed: (account: Account, error: unknown) => Promise<void>
}

/**
 * Works on accounts that are due, claimed as places become free, until nothing is due: a slow one holds up no other. One that
 * fails stops no other: it is due again when its claim ends. After the signal to stop nothing new is begun.
 */
export async function workOff<Account>(
  { clock, goesOn = () => true }: Pick<JobDeps, 'clock' | 'goesOn'>,
  signal: AbortSignal,
  { atOnce, claim, work, failed }: DueWork<Account>,
): Promise<void> {
  let taken = 0
  let isMoreDue = true
  let look = () => {}
  const moved = () => new Promise<void>((resolve) => (look = resolve))
  const endLooking = clock.every(LOOK_EVERY_MS, async () => look())
  const begin = async (account: Account) => {
    taken++
    await work(account).catch((error: unknown) => failed(account, error))
    taken--
    if (taken === 0 || (isMoreDue && taken <= atOnce * MOST_TAKEN)) look()
  }
  try {
    while (!signal.aborted) {
      const free = atOnce - taken
      if (free > 0 && !goesOn()) return
      const accounts = free > 0 ? await claim(free) : []
      isMoreDue = accounts.length === free
      for (const account of accounts) void begin(account)
      if (taken === 0) return
      if (!isMoreDue || taken > atOnce * MOST_TAKEN) await moved()
    }
  } finally {
    while (taken > 0) await moved()
    endLooking()
  }
}

/** Puts aside what can't be read of an account that failed: the cause may be its stored data. */
export async function accountFailed(
  { putAside, log }: Pick<JobDeps, 'putAside' | 'log'>,
  kind: DueKind,
  hubId: number,
  error: unknown,
): Promise<void> {
  log.error({ code: `${kind}.error`, hubId, err: error }, 'this account could not be processed')
  await putAside(hubId).catch((failure: unknown) => {
    log.error({ code: `${kind}.error`, hubId, err: failure }, 'the stored data of this account could not be checked')
  })
}
