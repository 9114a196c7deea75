import { judgeReceiver, type ReceiverHealth } from '../delivery/receiver-health.ts'
import { cleanText } from '../text/clean-text.ts'
import { isBroken, receiverStatus, receiverText } from '../views/deliveries.ts'
import { type Check, critical, type TroubleOf, warning } from './check.ts'

function broken(receivers: readonly ReceiverHealth[]): ReceiverHealth[] {
  return receivers.filter((health) => isBroken(receiverStatus(health)))
}

/** Failing receivers make no daemon less ready. */
export const ownReceivers: Check = {
  name: 'receivers',
  of: 'process',
  judge({ receivers = [] }) {
    const names = broken(receivers).map(({ receiver }) => receiver)
    if (names.length === 0) return [{ name: 'receivers', level: 'ok', says: 'none is known to fail' }]
    return [{ name: 'receivers', level: 'warning', says: `${names.join(', ')}: alerts are not delivered` }]
  },
}

/** Messages arrive: a failed attempt is a trouble at once. */
export const failingReceivers: Check = {
  name: 'receivers',
  of: 'fleet',
  judge({ now, receivers, handled }) {
    return receivers.flatMap((health) => {
      const trouble = judgeReceiver(health, now)
      const status = receiverStatus(health)
      if (handled.has(`delivery/${health.receiver}`) || !(isBroken(status) || trouble !== undefined)) return []
      const name = cleanText(health.receiver)
      const make = status.state === 'disabled' ? critical : warning
      const says = `${name} ${cleanText(receiverText(status), 160)}`
      const of: TroubleOf = { is: 'receiver', receiver: health.receiver }
      return [{ ...make('Fix the receiver', says, of), fix: `plimsoll alerts test ${name} shows whether it works` }]
    })
  },
}
