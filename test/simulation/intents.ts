import type { DoneStep } from './simulated-store.ts'

export type Intent = 'connected' | 'uninstalled'

interface Wish {
  is: Intent
  /** How many steps were done before: no clock orders them. */
  at: number
}

/**
 * What people wanted of each account last, as of the first time that a step of theirs did it: one that is done again, however
 * it came to that, is no other wish. An install counts from when its grant was kept, whenever its account is stored.
 */
export class Intents {
  /** Accounts whose customer followed the link of another account: that brings none back. */
  readonly byOtherLink = new Set<number>()
  /** Those whose grant was dropped for that: nobody deletes it. */
  readonly strange = new Set<number>()
  readonly #last = new Map<number, Wish>()
  readonly #done = new Set<string>()
  /** When each grant was kept, and when each number was taken for an uninstall. */
  readonly #kept = new Map<string, number>()
  readonly #asked = new Map<string, number>()
  #steps = 0

  /** How often each account was stored with a new grant. */
  readonly installs = new Map<number, number>()

  of(hubId: number): Intent | undefined {
    return this.#last.get(hubId)?.is
  }

  note({ step, hubId, args, answer }: DoneStep): void {
    const at = ++this.#steps
    if (step === 'takeOrder') this.#asked.set(String(answer), at)
    if (answer === 'strange') this.strange.add(hubId)
    const operation = String(args.find((arg) => typeof arg === 'string' && OPERATION.test(arg)))
    if (step === 'parkGrant' && !this.#kept.has(operation)) this.#kept.set(operation, at)
    const intent = INTENT_OF[step]?.[String(answer)]
    if (intent === undefined) return
    // A grant may be stored again with newer tokens.
    const install = `${operation} ${args[6]}`
    if (STORES.has(String(answer)) && !this.#done.has(install)) {
      this.#done.add(install)
      this.installs.set(hubId, (this.installs.get(hubId) ?? 0) + 1)
    }
    if (this.#done.has(operation)) return
    this.#done.add(operation)
    if (intent === 'connected' && this.byOtherLink.has(hubId)) return
    const wish = {
      is: intent,
      at: (step === 'beginUninstall' ? this.#asked.get(String(args.at(-1))) : this.#kept.get(operation)) ?? at,
    }
    const before = this.#last.get(hubId)
    // What is live is uninstalled by whoever asks for it.
    if (answer !== 'begun' && before !== undefined && before.at > wish.at) return
    this.#last.set(hubId, wish)
  }
}

/** A grant has a longer one. */
const OPERATION = /^([\w-]{16}|[\w-]{22})$/

const STORES = new Set(['connected', 'reconnected', 'imported', 'replaced'])

/** An install that finds its account uninstalled was wished for all the same, if that was later. */
const INTENT_OF: Record<string, Record<string, Intent>> = {
  connectAccount: {
    connected: 'connected',
    reconnected: 'connected',
    uninstalling: 'connected',
    uninstalled: 'connected',
  },
  importAccount: { imported: 'connected', replaced: 'connected' },
  beginUninstall: { begun: 'uninstalled', already: 'uninstalled' },
}
