import { isIPv4, isIPv6 } from 'node:net'
import type { FastifyRequest } from 'fastify'
import type { AuditLog } from '../../audit/audit-log.ts'
import type { Via } from '../../audit/audited.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { LogCode } from '../../runtime/log-codes.ts'
import { LineQuota, type Logger } from '../../runtime/logger.ts'

/** The connected machine, and the address that it forwards for if it is a proxy. */
export interface Client {
  peer: string
  forwardedFor: string | undefined
}

export function clientOf({ socket, headers }: FastifyRequest): Client {
  return { peer: socket.remoteAddress ?? '', forwardedFor: forwardedFor(headers['x-forwarded-for']) }
}

/** With the machine that is connected: the address that it forwards for may be made up by a client that is no proxy. */
export function addressOf(request: FastifyRequest): string {
  const { peer, forwardedFor } = clientOf(request)
  // How a socket for both shows one of IPv4.
  const connected = peer.replace(/^::ffff:(?=[\d.]+$)/i, '')
  return forwardedFor === undefined ? connected : `${forwardedFor} via ${connected}`
}

/** The address that the nearest proxy added to the header X-Forwarded-For; the text before that may be forged. */
export function forwardedFor(header: string | readonly string[] | undefined): string | undefined {
  const last = [header ?? []].flat().join(',').split(',').at(-1)?.trim() ?? ''
  return last === '' ? undefined : last.slice(0, 64)
}

/**
 * The network of an address, which counts as one client: a client with an address of IPv6 has the 2^64 beside it too. The
 * port that some proxies write behind an address is left out. Text that is no address stays as it is.
 */
export function networkOf(text: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]+)\]|(\d[\d.]*))(?::\d+)?$/.exec(text) ?? []
  const [address = ''] = (bracketed ?? plain ?? text).split('%')
  // How a socket for both shows one of IPv4.
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1] ?? address
  if (isIPv4(mapped)) return mapped
  return isIPv6(address) ? `${firstHalf(address)}::/64` : text
}

/** The first four of the eight groups, each written one way only. */
function firstHalf(address: string): string {
  // A URL writes it in the shortest form, with the longest run of zeros as `::`.
  const shortest = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const [head = '', tail] = shortest.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0')
  return [...before, ...zeros, ...after].slice(0, 4).join(':')
}

/** Lines of each kind, a minute. */
const MOST_LINES = 60

/** `sign-in`: by the form or a link; `bearer`: by the header of tokens; `person`: by that of persons, `why` not. */
type Refused = 'sign-in' | 'bearer' | 'person'
export type NoteRefusal = (of: Refused, request: FastifyRequest, why?: string) => void

const LINES: Record<Refused, { code: LogCode; message: string; via: Via; wrong?: string }> = {
  'sign-in': { code: 'http.sign-in', message: 'a sign-in failed', via: 'session' },
  bearer: { code: 'http.token-refused', message: 'a request carried a wrong admin token', via: 'token' },
  person: {
    code: 'http.user-refused',
    message: 'a request had http.trustedUserHeader, which was ignored',
    via: 'proxy',
    wrong: 'header of a person',
  },
}

/**
 * A line of the log for each wrong token or name, up to a quota a minute. The audit has the first of a day from each network
 * that is connected: a client chooses the address that it forwards for.
 */
export function createNoteRefusal(clock: Clock, log: Logger, audit: Pick<AuditLog, 'noteFirstOfDay'>): NoteRefusal {
  const quotas = {
    'sign-in': new LineQuota(MOST_LINES),
    bearer: new LineQuota(MOST_LINES),
    person: new LineQuota(MOST_LINES),
  }
  return (of, request, why) => {
    const unlogged = quotas[of].take(clock.steady())
    if (unlogged === undefined) return
    const { code, message, via, wrong = 'wrong admin token' } = LINES[of]
    const { peer, forwardedFor } = clientOf(request)
    const reason = why === undefined ? {} : { reason: why }
    log.warn({ code, address: forwardedFor ?? peer, peer, ...reason, unlogged }, message)
    const more = unlogged === 0 ? '' : `; ${unlogged} more before`
    // The credential itself is not noted: it is a guess, or a secret of another service.
    const detail = `${why === undefined ? wrong : `${wrong}: ${why}`}${more}`
    const who = { name: '', via, from: addressOf(request) }
    void audit.noteFirstOfDay({ action: 'sign-in.refused', who, detail }, networkOf(peer))
  }
}
