import { createServer, type ServerResponse } from 'node:http'
import { planRefresh } from '../../src/tokens/plan-refresh.ts'
import { FIRST_HUB_ID, hubIdIn } from './fleet-of-accounts.ts'
import { quietReports } from './quiet-reports.ts'

/**
 * A provider that answers at once and remembers when it made which token, so that what is told of lateness is what the
 * far side saw and not what the daemon says of itself. `POST /lives` begins anew: the tokens' life from now on, and when
 * the ones there are were made. `GET /seen` tells of what came since it was last asked, `GET /count` how much that is.
 */
const MOST_ACCOUNTS = 200_000
/** When the newest token of an account was made, ms; 0: never. */
const madeAt = new Float64Array(MOST_ACCOUNTS)
let latest: number[] = []
/** Since the lives began. */
let all: number[] = []
let refreshes = 0
let polls = 0
let firstAt = 0
let lastAt = 0
let life = { seconds: 1_800, refreshFrom: 0.5, refreshBy: 0.8 }
let expired = 0
let leastLeft = 1

export interface Lives {
  seconds: number
  refreshFrom: number
  refreshBy: number
  /** By account, in order. */
  madeAt: number[]
}

/** What was refreshed, and how late against its due moment. */
export interface Seen {
  refreshes: number
  polls: number
  /** When the first and the last request came. */
  firstAt: number
  lastAt: number
  p50: number
  p99: number
  max: number
  /** Since the lives began. */
  p99OfAll: number
  /** Refreshed after their token had ended. */
  expired: number
  /** Whose token has ended and was not refreshed. */
  ended: number
  /** Of its life, what the token had left that was nearest to its end when it was refreshed. */
  leastLeft: number
}

const { customProperties, associations } = quietReports()
const properties = buffered(customProperties)
const association = buffered(associations)

const server = createServer((request, response) => {
  const { method, url = '' } = request
  if (url === '/count') return send(response, buffered({ refreshes, polls }))
  if (url === '/seen') return send(response, buffered(seen()))
  lastAt = Date.now()
  if (firstAt === 0) firstAt = lastAt
  if (method === 'GET') return send(response, reportFor(url))
  let body = ''
  request.setEncoding('latin1').on('data', (text: string) => {
    body += text
  })
  request.on('end', () => {
    if (url === '/lives') begin(JSON.parse(body) as Lives)
    send(response, url === '/lives' ? buffered({}) : token(body))
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object' && address !== null) console.log(`http://127.0.0.1:${address.port}`)
})

function send(response: ServerResponse, body: Buffer): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body)
}

function reportFor(url: string): Buffer {
  if (!url.endsWith('/custom-properties')) return association
  polls++
  return properties
}

/** The same refresh token comes back, as the provider has it today. */
function token(form: string): Buffer {
  const [, refreshToken = ''] = /refresh_token=(na1[^&]*)/.exec(form) ?? []
  note(hubIdIn(refreshToken), Date.now())
  return buffered({
    ...{ token_type: 'bearer', refresh_token: refreshToken, access_token: 'A'.repeat(400) },
    expires_in: life.seconds,
  })
}

function note(hubId: number, now: number): void {
  const place = hubId - FIRST_HUB_ID
  const before = madeAt[place] ?? 0
  madeAt[place] = now
  refreshes++
  if (before === 0) return
  const expiresAt = before + life.seconds * 1_000
  const { dueAt } = planRefresh(hubId, { obtainedAt: before, expiresAt }, life)
  latest.push(now - dueAt)
  all.push(now - dueAt)
  if (now >= expiresAt) expired++
  leastLeft = Math.min(leastLeft, (expiresAt - now) / (life.seconds * 1_000))
}

function begin({ madeAt: made, ...next }: Lives): void {
  life = next
  madeAt.fill(0)
  madeAt.set(made)
  seen()
  all = []
}

function seen(): Seen {
  const longAgo = Date.now() - life.seconds * 1_000
  const ended = madeAt.reduce((count, made) => (made > 0 && made < longAgo ? count + 1 : count), 0)
  const [p50 = 0, p99 = 0, max = 0] = shares(latest, 0.5, 0.99, 1)
  const [p99OfAll = 0] = shares(all, 0.99)
  const found = { refreshes, polls, firstAt, lastAt, p50, p99, max, p99OfAll, expired, ended, leastLeft }
  latest = []
  refreshes = polls = expired = firstAt = lastAt = 0
  leastLeft = 1
  return found
}

function shares(values: readonly number[], ...asked: number[]): number[] {
  const sorted = Float64Array.from(values).sort()
  return asked.map((share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0)
}

function buffered(body: object | undefined): Buffer {
  return Buffer.from(JSON.stringify(body))
}
