import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

export interface QuietProvider {
  url: string
  close(): void
}

/**
 * A provider for a fleet where nothing happens: each report is as long as a real one and the same each time; where tokens
 * rotate, each that is redeemed brings another. Tokens begin with the hub id.
 */
export async function startQuietProvider({ rotates }: { rotates: boolean }): Promise<QuietProvider> {
  let redeemed = 0
  const server = createServer(async (request, response) => {
    const form = new URLSearchParams((await buffer(request)).toString('utf8'))
    const given = form.get('refresh_token') ?? request.headers.authorization?.replace('Bearer ', '') ?? ''
    const [hubId = ''] = given.split('.')
    const answer =
      request.method === 'POST' ? tokens(hubId, rotates ? `${hubId}.${++redeemed}` : given) : report(request.url ?? '')
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

function tokens(hubId: string, refreshToken: string): object {
  const accessToken = `${hubId}.${'a'.repeat(400)}`
  return { token_type: 'bearer', access_token: accessToken, refresh_token: refreshToken, expires_in: 1_800 }
}

function report(path: string): object {
  return path.endsWith('/custom-properties') ? QUIET : { results: [] }
}

const TYPES = 25

/** Nobody is near a limit, and no record at or near one. */
const QUIET = {
  byObjectType: Array.from({ length: TYPES }, (_, n) => ({
    ...{
      objectTypeId: n === 0 ? '0-1' : `2-${10_000_000 + n}`,
      singularLabel: `Thing ${n}`,
      pluralLabel: `Things ${n}`,
    },
    ...{ limit: 1_000, usage: 100, percentage: 10 },
  })),
  ...{ overallLimit: 25_000, overallUsage: 2_500, overallPercentage: 10 },
}
