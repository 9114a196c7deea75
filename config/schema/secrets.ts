import { Secret } from '../../src/runtime/secret.ts'
import { formatHostPort, isPlainHttpElsewhere, maskAddress, parseHostPort } from './addresses.ts'
import { parsed, plainText, type ReportProblem, type Unchecked, value } from './values.ts'

interface SecretKind {
  /** Why the text can't be it; undefined when it can. How to make one stands at its end: `to make one: COMMAND`. */
  fault?: (text: string) => string | undefined
  show?: (text: string) => string
}

/** Stands for the message that names the setting of its file too. */
export const SECRET_REQUIRED = 'required secret'

export function secret({ fault, show = () => '[secret]' }: SecretKind = {}) {
  return value<Secret>({
    read(input, refuse) {
      if (typeof input !== 'string') return refuse('must be text')
      if (/\p{Cc}/u.test(input)) return refuse('must be text on one line')
      const why = fault?.(input) ?? (input === '' ? 'must not be empty' : undefined)
      return why === undefined ? new Secret(input) : refuse(why)
    },
    write: (kept) => show(kept.reveal()),
    json: { type: 'string', writeOnly: true },
    required: SECRET_REQUIRED,
  })
}

/** An address with a password in it, or that is itself what gives access. */
export function secretAddress(schemes: readonly string[], extra?: (url: URL) => string | undefined) {
  const written = schemes.map((scheme) => `${scheme}://`).join(' or ')
  return secret({
    fault(address) {
      const url = URL.parse(address)
      if (url === null || url.hostname === '' || !schemes.includes(url.protocol.slice(0, -1))) {
        return `must be an address that starts with ${written}; special characters in a password are %-encoded`
      }
      return extra?.(url)
    },
    // The path of a web address often gives access; that of a Redis address is the number of a database.
    show: (address) => maskAddress(address, { keepPath: !address.startsWith('http') }),
  })
}

/** An https address, or http; which hosts http is good for is decided beside its `insecure`. */
export function webAddress({ strip = true } = {}) {
  return value<string>({
    read(input, refuse) {
      const url = typeof input === 'string' ? URL.parse(input) : null
      if (typeof input !== 'string' || url === null || !/^https?:$/.test(url.protocol) || /[\s\p{Cc}]/u.test(input)) {
        return refuse('must be an address that starts with https://')
      }
      if (url.username !== '' || url.password !== '') return refuse('must be an address without user and password')
      if (url.hash !== '') return refuse('must be an address without #')
      if (strip && url.search !== '') return refuse('must be an address without ?')
      return strip ? input.replace(/\/+$/, '') : input
    },
    json: { type: 'string', pattern: '^https?://' },
  })
}

export function hostPort() {
  const allowed = 'must be host:port, like 127.0.0.1:8088 or [::1]:8088'
  return parsed(allowed, parseHostPort, { type: 'string', pattern: ':\\d{1,5}$' }, formatHostPort)
}

/** Addresses that would carry what they are used for over a network in plain text, unless `insecure` allows it. */
export function checkPlainHttp(given: Unchecked, names: readonly string[], report: ReportProblem, group = ''): void {
  if (given.insecure === true) return
  for (const name of names) {
    const setting = given[name]
    const address = setting instanceof Secret ? setting.reveal() : setting
    if (typeof address !== 'string' || !isPlainHttpElsewhere(address)) continue
    report([name], `must start with https:// (http:// needs ${group}insecure: true, or a host that is this machine)`)
  }
}

const ADDRESS = '[^\\s@<>",;]+@[^\\s@<>",;]+'

export function mailAddress() {
  // A name with one of these signs is more than one address, or a group of them, unless it is in quotes.
  const pattern = new RegExp(`^(${ADDRESS}|("[^"<>\\\\\\p{Cc}]*"|[^<>"@,;:\\p{Cc}]*) *<${ADDRESS}>)$`, 'u')
  return plainText(
    pattern,
    'must be one e-mail address: a@example.com, Name <a@example.com> or "Name, too" <a@example.com>',
  )
}

/** Why a text is not a key of so many bytes in base64. */
export function bytesInBase64(text: string): number | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '') ? bytes.length : undefined
}
