import { inOrder, type Message } from '../../alerts/alert.ts'
import { shorten } from '../../text/clean-text.ts'

/** Made of the message with as many of its alerts as fit, the worst first; of the `least` where not even those fit. */
export function fitAlerts<T>(message: Message, make: (shown: Message) => T, fits: (made: T) => boolean, least = 0): T {
  const whole = make(message)
  if (fits(whole)) return whole
  let [count, most] = [least, message.data.alerts.length - 1]
  while (count < most) {
    const middle = Math.ceil((count + most) / 2)
    if (fits(make(withFirst(message, middle)))) count = middle
    else most = middle - 1
  }
  return make(withFirst(message, count))
}

function withFirst(message: Message, count: number): Message {
  const { data } = message
  const alerts = inOrder(message).slice(0, count)
  return { ...message, data: { ...data, truncated: data.truncated + data.alerts.length - alerts.length, alerts } }
}

/** The beginning of a text. */
export function cutToFit(text: string, fits: (text: string) => boolean): string {
  let cut = text
  for (let most = text.length; !fits(cut); most = Math.floor(most * 0.8)) cut = shorten(text, most)
  return cut
}
