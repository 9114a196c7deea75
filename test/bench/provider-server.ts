import { createServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { accessTokenOf, HUB_ID_LENGTH, REFRESH_TOKEN_LENGTH, refreshTokenOf } from './account-tokens.ts'
import { tellCount, tlsOfFarSides, urlOf } from './far-side.ts'
import { headOf, prepareAnswers, REPORTS } from './prepared-answers.ts'

/**
 * The far side of a cycle: token endpoint, custom properties, associations, for any account (`account-tokens.ts`). It
 * speaks as much HTTP/1.1 on bare sockets as its clients do: node:http takes three times the CPU for an answer, and would
 * be what is measured. Nothing is refused and nothing is checked but that a request is one of these three.
 *
 * BENCH_CHANGED, BENCH_FRESH_BYTES: see `AnswerOptions`. BENCH_LATENCY_MS: how long each answer waits.
 */
const { BENCH_CHANGED = '0', BENCH_FRESH_BYTES, BENCH_LATENCY_MS = '0' } = process.env
const reportFor = prepareAnswers({ changed: Number(BENCH_CHANGED), freshBytes: BENCH_FRESH_BYTES === '1' })
const latencyMs = Number(BENCH_LATENCY_MS)
const send = latencyMs === 0 ? (socket: Socket, answer: Buffer) => void socket.write(answer) : waitingSend(latencyMs)
let issued = 0
let reports = 0

const server =
  tlsOfFarSides === undefined
    ? createServer({ noDelay: true }, serve)
    : createTlsServer({ ...tlsOfFarSides, noDelay: true }, serve)
server.listen(0, '127.0.0.1', 1_024, () => console.log(urlOf(server)))
tellCount(() => ({ refreshes: issued, polls: Math.floor(reports / REPORTS.length) }))

function serve(socket: Socket): void {
  let rest = ''
  socket.on('error', () => socket.destroy())
  socket.on('data', (data: Buffer) => {
    // A request nearly always comes in one piece, and nobody sends the next one before the answer.
    rest = rest === '' ? data.toString('latin1') : rest + data.toString('latin1')
    for (let length = requestLength(rest); length > 0 && length <= rest.length; length = requestLength(rest)) {
      send(socket, answerTo(rest))
      rest = rest.length === length ? '' : rest.slice(length)
    }
  })
}

/** 0: not known yet. */
function requestLength(text: string): number {
  const head = text.indexOf('\r\n\r\n')
  if (head < 0) return 0
  if (text.startsWith('GET ')) return head + 4
  return head + 4 + Number(/^content-length: *(\d+)/im.exec(text.slice(0, head))?.[1] ?? 0)
}

function answerTo(request: string): Buffer {
  if (request.startsWith('GET ')) {
    reports++
    return reportFor(hubIdAt(request, request.indexOf('Bearer ') + 7), reportAsked(request))
  }
  const token = request.indexOf('refresh_token=na1-')
  if (token < 0) throw new Error(`no such request: ${request.slice(0, 80)}`)
  return tokens(hubIdAt(request, token + 'refresh_token='.length + REFRESH_TOKEN_LENGTH - HUB_ID_LENGTH))
}

/** Told by the end of the path: both versions of the interface, and what comes before it, are alike to us. */
function reportAsked(request: string): number {
  const end = request.indexOf(' ', 4)
  const report = REPORTS.findIndex((name) => request.startsWith(name, end - name.length))
  if (report < 0) throw new Error(`no such report: ${request.slice(0, end)}`)
  return report
}

function hubIdAt(request: string, at: number): number {
  const hubId = Number(request.slice(at, at + HUB_ID_LENGTH))
  if (!Number.isSafeInteger(hubId)) throw new Error('a token of another kind')
  return hubId
}

function tokens(hubId: number): Buffer {
  const access = accessTokenOf(hubId, ++issued)
  const body = `{"token_type":"bearer","refresh_token":"${refreshTokenOf(hubId)}","access_token":"${access}","expires_in":1800}`
  return Buffer.from(headOf(body.length) + body, 'latin1')
}

/** All wait equally long, so they leave in the order in which they came: one timer for all of them, not one for each. */
function waitingSend(ms: number): (socket: Socket, answer: Buffer) => void {
  let waiting: { at: number; socket: Socket; answer: Buffer }[] = []
  const leave = () => {
    const now = performance.now()
    const staying = waiting.findIndex(({ at }) => at > now)
    const leaving = staying < 0 ? waiting : waiting.slice(0, staying)
    waiting = staying < 0 ? [] : waiting.slice(staying)
    for (const { socket, answer } of leaving) socket.write(answer)
    const [first] = waiting
    if (first !== undefined) setTimeout(leave, first.at - now)
  }
  return (socket, answer) => {
    waiting.push({ at: performance.now() + ms, socket, answer })
    if (waiting.length === 1) setTimeout(leave, ms)
  }
}
