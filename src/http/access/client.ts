import type { FastifyRequest } from 'fastify'

/** Who asks: whoever is connected, and whom they say they ask for, if they are a proxy. */
export interface Client {
  peer: string
  forwardedFor: string | undefined
}

export function clientOf({ socket, headers }: FastifyRequest): Client {
  return { peer: socket.remoteAddress ?? '', forwardedFor: forwardedFor(headers['x-forwarded-for']) }
}

/** What the nearest proxy added to the header X-Forwarded-For; what stands before that anybody can write. */
export function forwardedFor(header: string | readonly string[] | undefined): string | undefined {
  const last = [header ?? []].flat().join(',').split(',').at(-1)?.trim() ?? ''
  return last === '' ? undefined : last.slice(0, 64)
}
