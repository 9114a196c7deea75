import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { SMTPServer } from 'smtp-server'
import { accessTokenOf, hubIdIn } from '../support/many-accounts.ts'
import { quietReports } from './quiet-reports.ts'

/** Lives and waves, ms. Each account crosses a threshold once a wave, and some number of it changes now and then. */
export const LIFE_MS = 4_000
const WAVE_MS = 24_000
const HIGH_MS = 8_000
const CHANGE_MS = 5_000

/** Everything outside: the provider, and whoever is told. Counts what came, by account, and keeps nothing else. */
export interface WeekProvider {
  readonly url: string
  readonly smtpUrl: string
  readonly refreshes: ReadonlyMap<number, number>
  readonly polls: ReadonlyMap<number, number>
  readonly told: { webhooks: number; mails: number }
  stop(): Promise<void>
}

export async function startWeekProvider(): Promise<WeekProvider> {
  const refreshes = new Map<number, number>()
  const polls = new Map<number, number>()
  const told = { webhooks: 0, mails: 0 }
  const count = (counts: Map<number, number>, hubId: number) => counts.set(hubId, (counts.get(hubId) ?? 0) + 1)
  const { associations } = quietReports()

  const server = createServer((request, response) => {
    response.on('error', () => {})
    const { url = '', headers } = request
    text(request).then(
      (body) => {
        if (url.startsWith('/hook')) {
          told.webhooks++
          response.writeHead(204).end()
        } else if (request.method === 'POST') {
          const refreshToken = new URLSearchParams(body).get('refresh_token') ?? ''
          count(refreshes, hubIdIn(refreshToken))
          send(response, tokenAnswer(refreshToken))
        } else if (url.endsWith('/custom-properties')) {
          const hubId = hubIdIn(headers.authorization ?? '')
          count(polls, hubId)
          send(response, customProperties(hubId, Date.now()))
        } else send(response, associations)
      },
      () => {},
    )
  })
  const mailServer = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    disableReverseLookup: true,
    logger: false,
    onData: (stream, _session, done) => {
      stream.resume().on('end', () => {
        told.mails++
        done()
      })
    },
  })
  mailServer.on('error', () => {}) // Connections that a daemon drops when it stops.
  server.listen(0, '127.0.0.1')
  mailServer.listen(0, '127.0.0.1')
  await Promise.all([once(server, 'listening'), once(mailServer.server, 'listening')])
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    smtpUrl: `smtp://127.0.0.1:${(mailServer.server.address() as AddressInfo).port}`,
    refreshes,
    polls,
    told,
    stop: async () => {
      server.close()
      server.closeAllConnections()
      await new Promise<void>((resolve) => mailServer.close(() => resolve()))
    },
  }
}

function tokenAnswer(refreshToken: string): object {
  const accessToken = accessTokenOf(hubIdIn(refreshToken))
  return { access_token: accessToken, refresh_token: refreshToken, expires_in: LIFE_MS / 1_000, token_type: 'bearer' }
}

function customProperties(hubId: number, now: number): object {
  const phase = now + ((hubId * 7_919) % WAVE_MS)
  const isHigh = phase % WAVE_MS < HIGH_MS
  const { customProperties: quiet } = quietReports()
  return {
    ...quiet,
    overallLimit: 25_000,
    overallUsage: isHigh ? 21_000 : 8_000 + (Math.floor(phase / CHANGE_MS) % 500),
  }
}

function send(response: ServerResponse, body: object): void {
  const json = JSON.stringify(body)
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(json) }).end(json)
}
