import { Secret } from '../../runtime/secret.ts'
import { splitCredentials } from '../url-credentials.ts'

export interface SmtpServer {
  host: string
  port: number
  /** Encrypted from the first byte on, rather than by STARTTLS. */
  secure: boolean
  auth?: { user: string; pass: string }
  /** What a server might echo in a reply, in each form that it gets to see. */
  secrets: Secret[]
}

export function smtpServer(name: string, smtp: Secret): SmtpServer {
  const parts = splitCredentials(smtp)
  if (parts === null || !/^smtps?:$/.test(parts.url.protocol) || parts.url.hostname === '') {
    throw new Error(`receiver ${name}: smtp must be an smtp:// or smtps:// URL`)
  }
  const { url, user, password } = parts
  const secure = url.protocol === 'smtps:'
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (secure ? 465 : 587) : Number(url.port),
    secure,
    ...(user !== '' && { auth: { user, pass: password } }),
    secrets: [smtp, ...secretForms(user, password)],
  }
}

function secretForms(user: string, password: string): Secret[] {
  if (user === '' && password === '') return []
  const forms = [`\0${user}\0${password}`, password, user]
  return forms.flatMap((form) => [form, Buffer.from(form).toString('base64')]).map((form) => new Secret(form))
}
