import { createServer, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { accessTokenOf, hubIdIn, refreshTokenOf } from '../support/many-accounts.ts'
import { headOf, prepareAnswers } from './prepared-answers.ts'
import { type Answers, PATHS, type Served } from './side.ts'

/**
 * The far side: token endpoint, custom properties, associations, for any account. It speaks as much HTTP/1.1 on bare sockets
 * as its clients do: node:http takes three times the CPU for an answer, and would be what is measured. Nothing is refused.
 */
const answers = JSON.parse(process.argv[2] ?? '') as Answers
const { latencyMs = 0 } = answers
const reportFor = prepareAnswers(answers)
const ACCESS_TOKEN = accessTokenOf(0).length
/** After `na1-`. */
const REFRESH_TOKEN = refreshTokenOf(0).length - 4
const served: Served = { refreshes: 0, polls: 0, firstAt: 0, lastAt: 0 }
let reports = 0

const server = createServer({ noDelay: true }, serve)
server.listen(0, '127.0.0.1', 1_024, () => {
  const address = server.address()
  if (typeof address === 'object' && address !== null) console.log(`http://127.0.0.1:${address.port}`)
})
createInterface({ input: process.stdin })
  .on('line', (line) => {
    if (line === 'begin') served.firstAt = 0
    console.log(JSON.stringify({ ...served, polls: Math.floor(reports / PATHS.length) }))
  })
  .on('close', () => process.exit())

function serve(socket: Socket): void {
  let rest = ''
  socket.on('error', () => socket.destroy())
  socket.on('data', (data: Buffer) => {
    // A request nearly always comes in one piece, and no client sends the next one before the answer.
    rest = rest === '' ? data.toString('latin1') : rest + data.toString('latin1')
    for (let length = requestLength(rest); length > 0 && length <= rest.length; length = requestLength(rest)) {
      served.lastAt = Date.now()
      if (served.firstAt === 0) served.firstAt = served.lastAt
      const answer = answerTo(rest)
      if (latencyMs === 0) socket.write(answer)
      else setTimeout(() => socket.write(answer), latencyMs)
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
    return reportFor(hubIdAfter('Bearer ', ACCESS_TOKEN, request), reportAsked(request))
  }
  return tokens(hubIdAfter('refresh_token=na1-', REFRESH_TOKEN, request))
}

/** Known by the end of the path: all versions of the interface are alike here. */
function reportAsked(request: string): number {
  const end = request.indexOf(' ', 4)
  const report = PATHS.findIndex((name) => request.startsWith(name, end - name.length))
  if (report < 0) throw new Error(`no such report: ${request.slice(0, end)}`)
  return report
}

/** All tokens of a kind are equally long, and end with the id of their account. */
function hubIdAfter(word: string, length: number, request: string): number {
  const from = request.indexOf(word) + word.length
  const hubId = hubIdIn(request.slice(from, from + length))
  if (!Number.isSafeInteger(hubId)) throw new Error(`no token: ${request.slice(0, 80)}`)
  return hubId
}

function tokens(hubId: number): Buffer {
  const access = accessTokenOf(hubId, ++served.refreshes)
  const body = `{"token_type":"bearer","refresh_token":"${refreshTokenOf(hubId)}","access_token":"${access}","expires_in":1800}`
  return Buffer.from(headOf(body.length) + body, 'latin1')
}
