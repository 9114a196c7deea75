import type { DoneStep } from './simulated-store.ts'

export type Intent = 'connected' | 'uninstalled'

interface Wish {
  is: Intent
  /** How many steps were done before: no clock orders them. */
  at: number
}

/**
 * What people wanted of each account last, as of the first time that a step of theirs did it: one that is done again, however
 * it came to that, is no other wish. An install counts from before its code is sent, whenever its account is stored.
 */
export class Intents {
  /** Accounts whose customer followed the link of another account: that brings none back. */
  readonly byOtherLink = new Set<number>()
  /** Those whose grant was dropped for that: nobody deletes it. */
  readonly strange = new Set<number>()
  readonly #last = new Map<number, Wish>()
  readonly #done = new Set<number>()
  /** When each intent was given: to an install, an import or an uninstall. */
  readonly #given = new Map<number, number>()
  #steps = 0

  /** How often each account was stored with a new grant. */
  readonly installs = new Map<number, number>()

  of(hubId: number): Intent | undefined {
    return this.#last.get(hubId)?.is
  }

  note({ step, hubId, args, answer }: DoneStep): void {
    const now = ++this.#steps
    if (step === 'takeIntent') this.#given.set(intentOf(answer), now)
    if (answer === 'strange') this.strange.add(hubId)
    const is = INTENT_OF[step]?.[String(answer)]
    if (is === undefined) return
    const version = Number(args[VERSION_OF[step] ?? 0])
    // A grant may be stored again with newer tokens.
    if (STORES.has(String(answer)) && !this.#done.has(version))
      this.installs.set(hubId, (this.installs.get(hubId) ?? 0) + 1)
    this.#done.add(version)
    if (is === 'connected' && this.byOtherLink.has(hubId)) return
    const at = this.#given.get(intentOf(version)) ?? now
    if (at >= (this.#last.get(hubId)?.at ?? 0)) this.#last.set(hubId, { is, at })
  }
}

const intentOf = (version: unknown) => Math.floor(Number(version) / 1_000_000)

/** Where it is among the arguments. */
const VERSION_OF: Record<string, number> = { connectAccount: 11, importAccount: 6, beginUninstall: 8 }
const STORES = new Set(['connected', 'reconnected', 'imported', 'replaced'])

/** An install that finds its account uninstalled, or connected later, was wished for all the same. */
const INTENT_OF: Record<string, Record<string, Intent>> = {
  connectAccount: {
    connected: 'connected',
    reconnected: 'connected',
    known: 'connected',
    uninstalled: 'connected',
  },
  importAccount: { imported: 'connected', replaced: 'connected' },
  beginUninstall: { begun: 'uninstalled', already: 'uninstalled' },
}
