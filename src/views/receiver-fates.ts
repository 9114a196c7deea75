import type { HoldReason } from '../alerts/sending/hold.ts'
import { decodeSendState, type SendState, type Waits } from '../alerts/sending/send-state.ts'
import type { DeliveryHead } from '../delivery/deliveries.ts'
import { chunksOf } from '../runtime/chunks-of.ts'
import { formatMoment } from '../text/format-time.ts'
import type { ViewDeps } from './view-deps.ts'

/** Outcome of a transition for one receiver. */
export interface ReceiverFate {
  receiver: string
  is: 'pending' | 'delivered' | 'dead' | 'withheld'
  /** Why it is held back, was given up, or is not sent; empty where there is nothing to show. */
  why: string
  /** The wait, or the delivery that brings it. */
  waits?: Waits
  delivery?: DeliveryHead
}

export type FateSources = Pick<ViewDeps, 'store' | 'keys' | 'deliveries'>

/** The transition in question. */
export interface AskedTransition {
  /** Id, the number in it, and the alert's own id. */
  id: string
  number: number
  alert: string
}

/** Outcome of each transition for each receiver that it is for; deliveries from before `since` are unknown. */
export async function readReceiverFates(
  { store, keys, deliveries }: FateSources,
  asked: readonly AskedTransition[],
  since: number,
): Promise<ReceiverFate[][]> {
  const alerts = [...new Set(asked.map(({ alert }) => alert))]
  const receivers = (await store.zrange(keys.delivery.receivers, 0, '-1')).sort()
  const sendStates = new Map<string, SendState>()
  for (const receiver of receivers) {
    for (const some of chunksOf(alerts)) {
      const found = await store.hmget(keys.delivery.known(receiver), ...some)
      for (const [n, alert] of some.entries()) sendStates.set(`${receiver}|${alert}`, decodeSendState(found[n]))
    }
  }
  const carrying = new Map<string, DeliveryHead[]>()
  for (const head of await deliveries.heads(since)) {
    for (const id of head.carried) carrying.set(id, [...(carrying.get(id) ?? []), head])
  }
  return asked.map(({ id, number, alert }) => {
    const heads = carrying.get(id) ?? []
    const others = receivers.filter((receiver) => !heads.some((head) => head.receiver === receiver))
    return [
      ...heads.map(fateOfDelivery),
      ...others.flatMap((receiver) => fateOfSendState(receiver, number, sendStates.get(`${receiver}|${alert}`) ?? {})),
    ]
  })
}

function fateOfDelivery(delivery: DeliveryHead): ReceiverFate {
  const { receiver, state, reason } = delivery
  const why = state === 'dead' ? `its delivery was given up (${reason}): plimsoll outbox replay` : ''
  return { receiver, is: state, why, delivery }
}

function fateOfSendState(receiver: string, number: number, { lastSent, waits }: SendState): ReceiverFate[] {
  // One without a reason was brought by a delivery that is forgotten by now.
  if (lastSent !== undefined && number <= lastSent.number)
    return lastSent.why === undefined ? [] : [{ receiver, is: 'withheld', why: lastSent.why }]
  return waits === undefined ? [] : [{ receiver, is: 'pending', why: holdText(waits), waits }]
}

/** Why a receiver waits, and until when. */
export function waitingText(waits: Waits): string {
  if (waits.is === 'held') return holdText(waits)
  return `it waits in its group${waits.until === undefined ? '' : ` until ${formatMoment(waits.until)}`}`
}

function holdText({ is, held }: Waits): string {
  if (is !== 'held' || held === undefined) return ''
  return `${heldText(held)}${held.is === 'fleet' ? '' : ` until ${formatMoment(held.until)}`}`
}

export function heldText(held: HoldReason): string {
  switch (held.is) {
    case 'silence':
      return `silence ${held.id}`
    case 'quiet-hours':
      return 'quiet hours'
    case 'fleet':
      return `the alert about all accounts (${held.trouble})`
  }
}
