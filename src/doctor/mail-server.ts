import { mailEncryption } from '../../config/receivers.ts'
import { verifyLogin } from '../delivery/email/send-email.ts'
import type { Secret } from '../runtime/secret.ts'
import { type Finding, fail, ok } from './finding.ts'

const TIMEOUT_MS = 4_000

/** Logs in as a mail would; nothing is sent. */
export async function checkMailServer(receiver: string, mail: { smtp: Secret; insecure: boolean }): Promise<Finding> {
  const name = `receiver.${receiver}`
  const { host } = new URL(mail.smtp.reveal())
  const tls = mailEncryption(mail)
  const failure = await verifyLogin({ name: receiver, smtp: mail.smtp, tls, timeoutMs: TIMEOUT_MS })
  if (failure === undefined) return ok(name, `${host} takes the login`)
  const fix = `check user, password, host and port in receivers.${receiver}.smtp`
  return fail(name, `${host}: ${failure}`, fix)
}
