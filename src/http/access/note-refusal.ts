import type { FastifyRequest } from 'fastify'
import type { Clock } from '../../runtime/clock.ts'
import { LineQuota } from '../../runtime/line-quota.ts'
import type { Logger } from '../../runtime/logger.ts'
import { clientOf } from './client.ts'

/** Lines of each kind, a minute. */
const MOST_LINES = 60

/** `sign-in`: by the form or a link; `bearer`: by the header. */
export type NoteRefusal = (of: 'sign-in' | 'bearer', request: FastifyRequest) => void

const SAID = {
  'sign-in': { code: 'http.sign-in', message: 'somebody failed to sign in' },
  bearer: { code: 'http.token-refused', message: 'somebody sent what is no admin token' },
} as const

/** A line of the log for each token that was none, and for no more of them than anybody reads. */
export function createNoteRefusal(clock: Clock, log: Logger): NoteRefusal {
  const quotas = { 'sign-in': new LineQuota(MOST_LINES), bearer: new LineQuota(MOST_LINES) }
  return (of, request) => {
    const unlogged = quotas[of].take(clock.now())
    if (unlogged === undefined) return
    const { code, message } = SAID[of]
    const { peer, forwardedFor } = clientOf(request)
    log.warn({ code, address: forwardedFor ?? peer, peer, unlogged }, message)
  }
}
