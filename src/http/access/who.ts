import type { FastifyRequest } from 'fastify'
import type { Who } from '../../audit/audited.ts'
import { addressOf } from './client.ts'

/** Whom the guard has found a request to be of, and the address that it came from. */
export function whoOf(request: FastifyRequest): Who {
  return { name: request.caller, via: request.via, from: addressOf(request) }
}
