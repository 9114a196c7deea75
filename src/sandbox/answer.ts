import type { FastifyReply } from 'fastify'
import type { Fault } from './faults.ts'

/** A whole HTTP answer as a value, so that it can be decided without a connection. */
export interface Answer {
  readonly status: number
  /** Exactly what goes over the wire. */
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

const JSON_TYPE = 'application/json;charset=utf-8'

export function json(status: number, value: unknown, headers?: Readonly<Record<string, string>>): Answer {
  return jsonAnswer(status, JSON.stringify(value), headers)
}

/** For reports, whose text is kept. */
export function jsonAnswer(status: number, body: string, headers?: Readonly<Record<string, string>>): Answer {
  return { status, body, headers: { 'content-type': JSON_TYPE, ...headers } }
}

export function noContent(): Answer {
  return { status: 204, body: '' }
}

export function send(reply: FastifyReply, answer: Answer): FastifyReply {
  reply.code(answer.status)
  if (answer.headers !== undefined) reply.headers(answer.headers)
  return reply.send(answer.body)
}

/** Ends the connection without an answer. */
export function drop(reply: FastifyReply): FastifyReply {
  reply.hijack()
  reply.raw.destroy()
  return reply
}

/** The answer of a call while `fault` is set for it; undefined: the connection is dropped. */
export async function throughFault(
  fault: Fault,
  work: () => Answer,
  usualError: (status: number) => Answer,
  wait: (ms: number) => Promise<void>,
): Promise<Answer | undefined> {
  const early = fault.after === true ? work() : undefined
  if (fault.delayMs !== undefined) await wait(fault.delayMs)
  if (fault.drop === true) return undefined
  const answer = faultAnswer(fault, usualError) ?? early ?? work()
  return { ...answer, headers: { ...answer.headers, ...fault.headers } }
}

function faultAnswer(fault: Fault, usualError: (status: number) => Answer): Answer | undefined {
  if (fault.body !== undefined) return bodyAnswer(fault.status ?? 200, fault.body)
  if (fault.status === undefined) return undefined
  return fault.status < 400 ? { status: fault.status, body: '' } : usualError(fault.status)
}

function bodyAnswer(status: number, body: unknown): Answer {
  if (typeof body !== 'string') return json(status, body)
  const type = body.startsWith('<')
    ? 'text/html;charset=utf-8'
    : /^\s*[[{]/.test(body)
      ? JSON_TYPE
      : 'text/plain;charset=utf-8'
  return { status, body, headers: { 'content-type': type } }
}
