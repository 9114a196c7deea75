import { createTransport, type EmailOptions } from './send-email.ts'
import { smtpFailure } from './smtp-failure.ts'
import { smtpServer } from './smtp-server.ts'

/** Connects and logs in as a mail would, and sends nothing. Returns why that failed, for people; nothing if it worked. */
export async function verifyLogin({
  name,
  smtp,
  tls,
  timeoutMs,
}: Pick<EmailOptions, 'name' | 'smtp' | 'tls'> & { timeoutMs: number }): Promise<string | undefined> {
  const server = smtpServer(name, smtp)
  const transport = await createTransport(server, tls, timeoutMs)
  try {
    await transport.verify()
    return undefined
  } catch (error) {
    return smtpFailure(error, server.secrets)
  } finally {
    transport.close()
  }
}
