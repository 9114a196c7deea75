import type { FastifyRequest } from 'fastify'
import type { Clock } from '../../runtime/clock.ts'
import { LineQuota, type Logger } from '../../runtime/logger.ts'
import { clientOf } from './client.ts'

/** Lines of each kind, a minute. */
const MOST_LINES = 60

/** `sign-in`: by the form or a link; `bearer`: by the header. */
export type NoteRefusal = (of: 'sign-in' | 'bearer', request: FastifyRequest) => void

const LINES = {
  'sign-in': { code: 'http.sign-in', message: 'a sign-in failed' },
  bearer: { code: 'http.token-refused', message: 'a request carried a wrong admin token' },
} as const

/** A line of the log for each wrong token, up to a quota a minute. */
export function createNoteRefusal(clock: Clock, log: Logger): NoteRefusal {
  const quotas = { 'sign-in': new LineQuota(MOST_LINES), bearer: new LineQuota(MOST_LINES) }
  return (of, request) => {
    const unlogged = quotas[of].take(clock.now())
    if (unlogged === undefined) return
    const { code, message } = LINES[of]
    const { peer, forwardedFor } = clientOf(request)
    log.warn({ code, address: forwardedFor ?? peer, peer, unlogged }, message)
  }
}
