import type { Clock } from '../runtime/clock.ts'
import { type Answer, JSON_TYPE, json } from './answer.ts'
import type { Fault } from './faults.ts'

/** The answer of a call, with the fault that is set for it; undefined: the connection ends without an answer. */
export async function meetFault(
  fault: Fault | undefined,
  { clock, closing }: { clock: Clock; closing: AbortSignal },
  work: () => Answer,
  usualError: (status: number) => Answer,
): Promise<Answer | undefined> {
  if (fault === undefined) return work()
  const early = fault.after === true ? work() : undefined
  if (fault.delayMs !== undefined) await clock.wait(fault.delayMs, closing)
  if (fault.drop === true || closing.aborted) return undefined
  const answer = faultAnswer(fault, usualError) ?? early ?? work()
  return { ...answer, headers: { ...answer.headers, ...fault.headers } }
}

function faultAnswer({ status, body }: Fault, usualError: (status: number) => Answer): Answer | undefined {
  if (typeof body === 'string') return { status: status ?? 200, body, headers: { 'content-type': typeOf(body) } }
  if (body !== undefined) return json(status ?? 200, body)
  if (status === undefined) return undefined
  return status < 400 ? { status, body: '' } : usualError(status)
}

function typeOf(body: string): string {
  if (body.startsWith('<')) return 'text/html;charset=utf-8'
  return /^\s*[[{]/.test(body) ? JSON_TYPE : 'text/plain;charset=utf-8'
}
