import type { DoneStep } from './simulated-store.ts'

export type Intent = 'connected' | 'uninstalled'

/**
 * What people wanted of each account last, as of the first time that a step of theirs did it: one that is done again, however
 * it came to that, is no other wish.
 */
export class Intents {
  /** Accounts whose customer followed the link of another account: that brings none back. */
  readonly byOtherLink = new Set<number>()
  /** Those whose grant was dropped for that: nobody deletes it. */
  readonly strange = new Set<number>()
  readonly #last = new Map<number, Intent>()
  readonly #done = new Set<string>()

  of(hubId: number): Intent | undefined {
    return this.#last.get(hubId)
  }

  note({ step, hubId, args, answer }: DoneStep): void {
    if (answer === 'strange') this.strange.add(hubId)
    const intent = INTENT_OF[step]?.[String(answer)]
    if (intent === undefined) return
    const operation = args.find((arg) => typeof arg === 'string' && OPERATION.test(arg))
    if (this.#done.has(String(operation))) return
    this.#done.add(String(operation))
    if (intent === 'connected' && this.byOtherLink.has(hubId)) return
    this.#last.set(hubId, intent)
  }
}

/** Of a grant it is the name that the run gives it. */
const OPERATION = /^([\w-]{16}|grant_\d+)$/

const INTENT_OF: Record<string, Record<string, Intent>> = {
  connectAccount: { connected: 'connected', reconnected: 'connected' },
  importAccount: { imported: 'connected', replaced: 'connected' },
  beginUninstall: { begun: 'uninstalled' },
}
