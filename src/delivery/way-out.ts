import type { AttemptOutcome } from './receiver.ts'

/** What to do about an attempt that failed; `receiver` is its name in the config. */
export function wayOut(type: 'email' | 'webhook', receiver: string, { answer }: AttemptOutcome): string {
  const settings = `receivers.${receiver}`
  return type === 'email' ? mailWayOut(settings, answer) : webhookWayOut(settings, answer)
}

function mailWayOut(settings: string, answer: number | undefined): string {
  if (answer === undefined) return `check host and port in ${settings}.smtp, and that this machine may connect to it`
  if (answer === 530 || answer === 534 || answer === 535) return `check user and password in ${settings}.smtp`
  if (answer >= 400 && answer < 500) return 'the mail server wants to be asked again later: try again in some minutes'
  return `check ${settings}.from and ${settings}.to: the mail server does not take such a mail`
}

function webhookWayOut(settings: string, answer: number | undefined): string {
  if (answer === undefined) return `check ${settings}.url, and that this machine may connect to it`
  if (answer >= 300 && answer < 400) return `put the address that it leads to into ${settings}.url`
  if (answer === 401 || answer === 403)
    return `check ${settings}.secrets and ${settings}.url: it does not accept who we are`
  if (answer === 404 || answer === 410) return `check ${settings}.url: no messages are taken there any more`
  if (answer === 429 || answer >= 500) return 'the far side is in trouble: see its log, and try again in some minutes'
  return `check ${settings}.format and ${settings}.url: it does not take such a message`
}
