import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import type { Readable } from 'node:stream'
import type { Method } from '../operations/operation.ts'
import { EVENTS_TYPE, TABLE_TYPE, TABLE_VERSION, type TableAnswer, type TableEvent } from '../text/table-answer.ts'
import type { DaemonAddress } from './daemon-address.ts'
import { CommandError, type Io, waitOf } from './io.ts'
import { whoRuns } from './who-runs.ts'

/** A request of a command, below /api/v1. */
export interface ApiRequest {
  method: Method
  path: string
  query: URLSearchParams
  body?: object | Readable
  /** `table`: for people; `value`: for programs. */
  wants: 'table' | 'value'
}

/** The API, in the daemon or in this process. Both answer alike. */
export interface Api {
  send(request: ApiRequest, headers: Record<string, string>): Promise<ApiAnswer>
}

interface ApiAnswer {
  status: number
  type: string
  body: AsyncIterable<Buffer>
}

/** A refusal of the API: RFC 9457, with a hint of what to do. */
export class ApiProblem extends Error {
  readonly status: number
  readonly hint: string | undefined
  readonly faults: readonly { parameter: string; detail: string }[]
  readonly problem: Readonly<Record<string, unknown>>

  constructor(problem: Readonly<Record<string, unknown>>) {
    const { status, detail, hint, errors } = problem
    super(plainSentence(String(detail ?? 'the daemon refused it')))
    this.status = typeof status === 'number' ? status : 0
    this.hint = typeof hint === 'string' ? hint : undefined
    this.faults = Array.isArray(errors) ? errors : []
    this.problem = problem
  }
}

/** A daemon that is not there: where the data are at hand, the command works on them. */
export class NoDaemon extends Error {}

/** `There is no account 5.` as the end of a line: `there is no account 5`. */
function plainSentence(detail: string): string {
  const text = detail.replace(/\.$/, '')
  return /^[A-Z][a-z]/.test(text) ? `${text.charAt(0).toLowerCase()}${text.slice(1)}` : text
}

/** Over HTTP. Waits for the beginning of an answer as long as `--timeout` allows. */
export function overHttp(io: Io, address: DaemonAddress): Api {
  const { url, token, isLocal } = address
  return {
    send: async ({ method, path, query, body }, headers) => {
      // An import would load a client of the web beside it, which costs as much as the whole command.
      const { request } = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http')
      const search = query.size === 0 ? '' : `?${query}`
      const options: RequestOptions = {
        method,
        path: `${url.pathname.replace(/\/$/, '')}/api/v1${path}${search}`,
        host: url.hostname.replace(/^\[|\]$/g, ''),
        port: url.port,
        headers: {
          ...headers,
          authorization: `Bearer ${token}`,
          ...(isLocal ? { 'plimsoll-user': encodeURIComponent(whoRuns(io).name) } : {}),
          ...contentOf(body),
        },
        signal: io.stop,
      }
      const message = await new Promise<IncomingMessage>((resolve, reject) => {
        const sent = request(options, resolve)
        const late = () =>
          sent.destroy(new CommandError(`${url.host} does not answer: it is busy, or hangs. --timeout 1m waits longer`))
        // A file takes as long as it takes.
        const timer = setTimeout(late, waitOf(io)).unref()
        sent.once('response', () => clearTimeout(timer)).on('error', (error) => reject(unreached(error, address, io)))
        if (body === undefined || !('pipe' in body)) sent.end(body === undefined ? undefined : JSON.stringify(body))
        else {
          clearTimeout(timer)
          body.on('error', (error) => sent.destroy(error))
          onceConnected(sent, () => body.pipe(sent))
        }
      })
      return { status: message.statusCode ?? 0, type: message.headers['content-type'] ?? '', body: whole(message, io) }
    },
  }
}

/** The daemon is there before a body is read: what is piped in can be read once, and without a daemon this process needs it. */
function onceConnected(sent: ClientRequest, begin: () => void): void {
  sent.once('socket', (socket) => {
    if (socket.connecting) socket.once('connect', begin)
    else begin()
  })
}

async function* whole(message: IncomingMessage, io: Io): AsyncGenerator<Buffer> {
  try {
    yield* message
  } catch {
    throw new CommandError(io.stop.aborted ? 'stopped' : CUT_OFF)
  }
}

const CUT_OFF = 'the daemon ended before its answer was whole: run the command again'

export function contentOf(body: ApiRequest['body']): Record<string, string> {
  if (body === undefined) return {}
  if ('pipe' in body) return { 'content-type': 'application/octet-stream' }
  return { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(JSON.stringify(body))) }
}

function unreached(error: NodeJS.ErrnoException, { url, isLocal }: DaemonAddress, io: Io): Error {
  if (error instanceof CommandError) return error
  if (io.stop.aborted) return new CommandError('stopped')
  if (isLocal && error.code === 'ECONNREFUSED') return new NoDaemon()
  return new CommandError(
    `${url.host} can't be reached (${error.code ?? error.message}): check the address, and that the daemon runs`,
  )
}

export interface Watcher {
  progress(done: number, total: number | undefined): void
  shown(parts: TableAnswer['shown']): Promise<void> | void
  note(text: string): void
}

/** Sends it, and reads the answer to its end. Throws ApiProblem. */
export async function ask(api: Api, request: ApiRequest, watcher: Watcher): Promise<TableAnswer> {
  const accept = request.wants === 'value' ? `${TABLE_TYPE}; part=value` : TABLE_TYPE
  const { status, type, body } = await api.send(request, { accept })
  if (type.startsWith(EVENTS_TYPE)) return readEvents(body, watcher)
  const text = await readWhole(body)
  if (type.startsWith('application/problem+json')) throw new ApiProblem(JSON.parse(text))
  if (!type.startsWith(TABLE_TYPE)) throw new CommandError(strangeAnswer(status, type))
  return checked(JSON.parse(text))
}

const DOWNLOADED = /^(text\/csv|application\/(json|x-ndjson))\b/

/** Asks for an answer in another form than JSON, and hands it on as it comes. */
export async function download(api: Api, request: ApiRequest, accept: string): Promise<AsyncIterable<Buffer>> {
  const { status, type, body } = await api.send(request, { accept })
  if (type.startsWith('application/problem+json')) throw new ApiProblem(JSON.parse(await readWhole(body)))
  // The page of a proxy, say, is no file of accounts.
  if (status !== 200 || !DOWNLOADED.test(type)) throw new CommandError(strangeAnswer(status, type))
  return body
}

function strangeAnswer(status: number, type: string): string {
  const kind = type === '' ? 'nothing' : type.split(';')[0]
  return `the address answered ${status} with ${kind}, which is not this version of Plimsoll: check the address, or use the daemon's own version`
}

function checked(answer: TableAnswer): TableAnswer {
  if (answer.version === TABLE_VERSION) return answer
  throw new CommandError('the daemon has another version than this command: use the plimsoll that is installed with it')
}

async function readEvents(body: AsyncIterable<Buffer>, watcher: Watcher): Promise<TableAnswer> {
  for await (const line of linesOf(body)) {
    const event = JSON.parse(line) as TableEvent
    if ('progress' in event) watcher.progress(event.progress.done, event.progress.total ?? undefined)
    else if ('note' in event) watcher.note(event.note)
    else if ('shown' in event) await watcher.shown(event.shown)
    else if ('problem' in event) throw new ApiProblem(event.problem as Record<string, unknown>)
    else return checked(event.answer)
  }
  throw new CommandError(CUT_OFF)
}

export async function* linesOf(body: AsyncIterable<Buffer>): AsyncGenerator<string, undefined> {
  // A line of a whole fleet comes in thousands of pieces.
  let pieces: string[] = []
  const decoder = new TextDecoder()
  for await (const chunk of body) {
    const [first = '', ...others] = decoder.decode(chunk, { stream: true }).split('\n')
    pieces.push(first)
    for (const next of others) {
      yield pieces.join('')
      pieces = [next]
    }
  }
  const rest = pieces.join('')
  if (rest !== '') yield rest
}

export async function readWhole(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of body) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString('utf8')
}
