import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { readPresentReceivers } from '../redis/present-receivers.ts'
import { type AlertWrites, NO_ACCOUNT, stepJson } from '../redis/steps.ts'
import { cleanText } from '../text/clean-text.ts'
import { countOf } from '../text/format-number.ts'
import { formatTime } from '../text/format-time.ts'
import type { AttemptOutcome, Recipient, Recipients } from './receiver.ts'

/** The state of a receiver, by its attempts. Times in ms. */
export interface ReceiverHealth {
  receiver: string
  lastDeliveredAt?: number
  /** Since when every attempt has failed, and how many have. */
  failingSince?: number
  failures: number
  lastReason?: string
  /** Why it is switched off: it wants no more messages, or refuses the login. */
  disabled?: string
  /** Recipients that its far side refuses, while it takes messages for others. */
  refused?: readonly Recipient[]
}

/** Recipients that an attempt got a message to, and those that it never will. */
export type RecipientsRecord = Pick<Recipients, 'taken' | 'refused'>

/** Recipients of an attempt, for the step that records it. */
export function recipientsJson(recipients: RecipientsRecord | undefined): string {
  if (recipients === undefined) return ''
  const { taken, refused } = recipients
  return JSON.stringify({ taken, refused: Object.fromEntries(refused.map(({ address, reason }) => [address, reason])) })
}

export interface ReceiverTrouble {
  is: 'disabled' | 'failing' | 'recipients'
  level: 'warning' | 'critical'
  /** The event and the remedy. */
  message: string
}

/** Long enough for a receiver that restarts or is redeployed: it has been tried half a dozen times by then. */
const RECEIVER_FAILING_MS = 3_600_000

/** The trouble of a receiver: an alert to the others. */
export function judgeReceiver(health: ReceiverHealth, now: number): ReceiverTrouble | undefined {
  const { receiver, disabled, failingSince } = health
  if (disabled !== undefined)
    return { is: 'disabled', level: 'critical', message: describeDisabled(receiver, disabled) }
  if (failingSince !== undefined && now - failingSince >= RECEIVER_FAILING_MS)
    return { is: 'failing', level: 'warning', message: describeFailing(health, failingSince) }
  if (health.refused !== undefined && health.refused.length > 0)
    return { is: 'recipients', level: 'warning', message: describeRefused(receiver, health.refused) }
  return undefined
}

/** Text of the end of a trouble. */
export function describeOver({ receiver, lastDeliveredAt, failingSince }: ReceiverHealth): string {
  return failingSince === undefined && lastDeliveredAt !== undefined
    ? `The receiver ${receiver} delivers again.`
    : `The receiver ${receiver} gets messages again.`
}

export function describeGone(receiver: string): string {
  return `The receiver ${receiver} is no longer in the config.`
}

function describeDisabled(receiver: string, reason: string): string {
  return (
    `The receiver ${receiver} is switched off (${cleanText(reason, 200)}). It gets no messages until you correct its settings ` +
    `(the daemon takes them over on SIGHUP), or, if it takes messages again: plimsoll alerts test ${receiver}`
  )
}

/** Also for a receiver that fails too shortly for an alert. */
export function describeFailing(
  { receiver, failures, lastReason, lastDeliveredAt }: ReceiverHealth,
  since: number,
): string {
  const never = lastDeliveredAt === undefined ? 'It has never delivered anything' : 'It delivers nothing'
  return (
    `The receiver ${receiver} fails. ${never} since ${timeOf(lastDeliveredAt ?? since)}; ` +
    `${countOf(failures, 'attempt')} failed since ${timeOf(since)}, the last one: ${cleanText(lastReason ?? 'not known', 200)}. ` +
    `Each message is tried again for three days. To see whether it works: plimsoll alerts test ${receiver}`
  )
}

const MOST_NAMED = 5

/** `boss@example.com (550 5.1.1 unknown)` of each. */
export function listRefused(refused: readonly Recipient[]): string {
  const named = refused
    .slice(0, MOST_NAMED)
    .map(({ address, reason }) => `${cleanText(address, 80)} (${cleanText(reason)})`)
  const more = refused.length - named.length
  return [...named, ...(more > 0 ? [`${more} more`] : [])].join(', ')
}

function describeRefused(receiver: string, refused: readonly Recipient[]): string {
  return (
    `The receiver ${receiver} does not reach all of its recipients. The mail server refuses ${listRefused(refused)}; ` +
    `the others get the mails. Correct receivers.${receiver}.to, or have the server take these addresses; ` +
    `to see whether it does: plimsoll alerts test ${receiver}`
  )
}

function timeOf(at: number): string {
  return formatTime(new Date(at).toISOString())
}

/** A receiver's health is kept for so long: it may only be gone from the config for a while. */
const KEPT_MS = 90 * 86_400_000
/** Fields of the alerts about receivers, among the alerts of the whole installation. */
const FIELD = 'delivery/'

export class ReceiverStore {
  readonly #store: Store
  readonly #keys: Keys

  constructor(store: Store, keys: Keys) {
    this.#store = store
    this.#keys = keys
  }

  /** These are in a daemon's config. */
  async see(names: readonly string[], now: number): Promise<void> {
    const { receivers, receiver } = this.#keys.delivery
    await Promise.all(
      names.flatMap((name) => [this.#store.pexpire(receiver(name), KEPT_MS), this.#store.zadd(receivers, now, name)]),
    )
  }

  /** The state of all receivers of all daemons, by name. */
  async read(): Promise<ReceiverHealth[]> {
    const { receiver, disabled } = this.#keys.delivery
    const [names, off] = await Promise.all([
      readPresentReceivers(this.#store, this.#keys),
      this.#store.hgetall(disabled),
    ])
    const hashes = await Promise.all(names.map((name) => this.#store.hgetall(receiver(name))))
    return names
      .map((name, n) => healthOf(name, hashes[n] ?? {}, off[name]))
      .sort((a, b) => (a.receiver < b.receiver ? -1 : 1))
  }

  /** A test by request; `enabled`: it was switched off, and is not any more. */
  recordTest(
    { id, receiver, ms, now }: { id: string; receiver: string; ms: number; now: number },
    outcome: AttemptOutcome,
  ): Promise<'recorded' | 'enabled'> {
    const reason = outcome.outcome === 'delivered' ? (outcome.detail ?? '') : outcome.reason
    return this.#store.recordTest(
      this.#keys.delivery.receiversDue,
      now,
      id,
      receiver,
      outcome.outcome === 'delivered' ? 'delivered' : 'failed',
      reason,
      ms,
      outcome.answer ?? '',
      recipientsJson(outcome.recipients),
    )
  }

  /** States of the alerts about receivers, by receiver. */
  async alertStates(): Promise<Map<string, string>> {
    const states = await this.#store.hgetall(this.#keys.account(NO_ACCOUNT).alerts)
    return new Map(
      Object.entries(states)
        .filter(([field]) => field.startsWith(FIELD))
        .map(([field, state]) => [field.slice(FIELD.length), state]),
    )
  }

  /** `stale`: another daemon changed the alert since it was read. */
  changeAlert(writes: AlertWrites): Promise<'changed' | 'stale'> {
    return this.#store.changeAlerts(this.#keys.own(NO_ACCOUNT), NO_ACCOUNT, stepJson(writes))
  }
}

/** A field of the hash for each recipient that is refused. */
const REFUSED = 'refused:'

function healthOf(receiver: string, hash: Record<string, string>, disabled: string | undefined): ReceiverHealth {
  const { lastDeliveredAt, failingSince, failures, lastReason } = hash
  return {
    receiver,
    ...(lastDeliveredAt !== undefined && { lastDeliveredAt: Number(lastDeliveredAt) }),
    ...(failingSince !== undefined && { failingSince: Number(failingSince) }),
    failures: Number(failures ?? 0),
    ...(lastReason !== undefined && { lastReason }),
    ...(disabled !== undefined && { disabled }),
    refused: Object.entries(hash)
      .filter(([field]) => field.startsWith(REFUSED))
      .map(([field, reason]) => ({ address: field.slice(REFUSED.length), reason })),
  }
}
