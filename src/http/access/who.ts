import type { FastifyRequest } from 'fastify'
import type { Who } from '../../audit/audited.ts'
import { addressOf } from './client.ts'

/** The caller that the guard has found, and the address that the request came from. */
export function whoOf(request: FastifyRequest): Who {
  return { name: request.caller, via: request.via, from: addressOf(request) }
}
