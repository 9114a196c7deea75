import type { FastifyReply, FastifyRequest } from 'fastify'

/** A whole HTTP answer as a value, so that it can be decided without a connection. */
export interface Answer {
  readonly status: number
  /** Exactly what goes over the wire. */
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

export const JSON_TYPE = 'application/json;charset=utf-8'

export function json(status: number, value: unknown): Answer {
  return rawJson(status, JSON.stringify(value))
}

export function rawJson(status: number, body: string): Answer {
  return { status, body, headers: { 'content-type': JSON_TYPE } }
}

export function noContent(): Answer {
  return { status: 204, body: '' }
}

/** Without an answer the connection ends. */
export function send(reply: FastifyReply, answer: Answer | undefined): FastifyReply {
  if (answer !== undefined)
    return reply
      .code(answer.status)
      .headers(answer.headers ?? {})
      .send(answer.body)
  reply.hijack()
  reply.raw.destroy()
  return reply
}

/** The body as it came. */
export function textOf(request: FastifyRequest): string {
  return Buffer.isBuffer(request.body) ? request.body.toString('utf8') : ''
}
