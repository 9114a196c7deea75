import type { Dispatcher } from 'undici'

// Not the whole package: with its fetch, caches and mocks a process holds 10 MB more.
import Pool from 'undici/lib/dispatcher/pool.js'
import { networkFailure } from '../runtime/network-failure.ts'
import { failureThrough, type OutgoingProxy, openThrough, type ProxyFor } from '../runtime/outgoing-proxy.ts'
import { type OneUnderWay, UnderWay } from '../runtime/under-way.ts'
import { plainBody, TooLargeError } from './body.ts'
import { CallError } from './call-error.ts'

/**
 * Rules of one call, for all endpoints: one connection pool with HTTP/1.1 keep-alive, a deadline that covers everything
 * from connecting to the last byte, a cap on the answer, no redirects, no retries (the due sets retry).
 *
 * Made of undici's `dispatch` with one small handler because this is the hottest path: `request` reaches 0.6 of its
 * calls per CPU second, `fetch` 0.2.
 */
export interface HttpRequest {
  method: 'GET' | 'POST' | 'DELETE'
  path: string
  headers: Record<string, string>
  body?: string
}

export interface HttpResponse {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Buffer
}

export interface HttpClient {
  /** `done` is called once, and must not throw. */
  call(request: HttpRequest, done: (answer: HttpResponse | CallError) => void): void
  /** The same as a promise, which costs a third of a call: for what is not called for every account at every poll. */
  send(request: HttpRequest): Promise<HttpResponse>
  close(): Promise<void>
}

export interface HttpClientOptions {
  baseUrl: string
  timeoutMs: number
  connections: number
  maxAnswerBytes: number
  proxyFor?: ProxyFor | undefined
}

export function createHttpClient(options: HttpClientOptions): HttpClient {
  const base = new URL(options.baseUrl)
  const prefix = base.pathname.replace(/\/$/, '')
  const deadlines = new Deadlines(options.timeoutMs)
  const proxy = options.proxyFor?.(base)
  const connections = proxy === undefined ? connectDirectly(base, options) : connectThrough(proxy, base, options)
  const call: HttpClient['call'] = ({ path, method, headers, body = null }, done) => {
    const handler = new AnswerHandler(options, deadlines, proxy, done)
    connections.dispatch({ path: prefix + path, method, headers, body }, handler)
  }
  return {
    call,
    send: (request) =>
      new Promise((resolve, reject) => {
        call(request, (answer) => (answer instanceof CallError ? reject(answer) : resolve(answer)))
      }),
    close: () => connections.destroy(),
  }
}

interface Connections {
  dispatch(request: Dispatcher.DispatchOptions, handler: AnswerHandler): void
  destroy(): Promise<void>
}

const CONNECTION_SETTINGS = {
  pipelining: 1,
  allowH2: false,
  keepAliveTimeout: 20_000,
  headersTimeout: 0,
  bodyTimeout: 0,
}

function connectDirectly({ origin }: URL, { connections, timeoutMs }: HttpClientOptions): Connections {
  return new Pool(origin, { ...CONNECTION_SETTINGS, connections, connect: { timeout: timeoutMs } })
}

/** The rest of undici is loaded for a proxy alone. */
function connectThrough(
  proxy: OutgoingProxy,
  { origin }: URL,
  { connections, timeoutMs }: HttpClientOptions,
): Connections {
  const opened = import('undici').then((undici) =>
    openThrough(undici, proxy, { ...CONNECTION_SETTINGS, connections, timeoutMs }),
  )
  opened.catch(() => {}) // Each call fails by it.
  return {
    dispatch: (request, handler) => {
      opened
        .then((dispatcher) => dispatcher.dispatch({ ...request, origin }, handler))
        .catch((error: Error) => handler.fail(error))
    },
    destroy: async () => (await opened).destroy(),
  }
}

class AnswerHandler implements Dispatcher.DispatchHandler, Timed {
  before: Timed | undefined
  after: Timed | undefined
  endsAt = 0
  readonly #options: HttpClientOptions
  readonly #deadlines: Deadlines
  readonly #proxy: OutgoingProxy | undefined
  readonly #done: (answer: HttpResponse | CallError) => void
  #isDone = false
  readonly #chunks: Buffer[] = []
  #controller: Dispatcher.DispatchController | undefined
  #bytes = 0
  #status = 0
  #headers: HttpResponse['headers'] = {}
  #cutOff: CallError | undefined

  constructor(
    options: HttpClientOptions,
    deadlines: Deadlines,
    proxy: OutgoingProxy | undefined,
    done: (answer: HttpResponse | CallError) => void,
  ) {
    this.#options = options
    this.#deadlines = deadlines
    this.#proxy = proxy
    this.#done = done
    deadlines.begin(this)
  }

  expire(): void {
    this.#stop(new CallError('timeout', `no complete answer within ${this.#options.timeoutMs / 1000} s`))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    // The deadline may have passed while the request waited for a connection.
    if (this.#cutOff !== undefined) controller.abort(this.#cutOff)
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: HttpResponse['headers']): void {
    this.#status = status
    this.#headers = headers
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length
    const { maxAnswerBytes } = this.#options
    if (this.#bytes > maxAnswerBytes) {
      this.#stop(new CallError('too-large', `the answer is larger than ${maxAnswerBytes} bytes`))
    } else {
      this.#chunks.push(chunk)
    }
  }

  onResponseEnd(): void {
    this.#deadlines.end(this)
    const [only] = this.#chunks
    const body = this.#chunks.length === 1 && only !== undefined ? only : Buffer.concat(this.#chunks)
    this.#end(this.#plain(body))
  }

  #plain(body: Buffer): HttpResponse | CallError {
    try {
      const plain = plainBody(body, this.#headers['content-encoding'], this.#options.maxAnswerBytes)
      return { status: this.#status, headers: this.#headers, body: plain }
    } catch (error) {
      if (error instanceof TooLargeError) return new CallError('too-large', error.message)
      throw error
    }
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.fail(error)
  }

  fail(error: Error): void {
    this.#deadlines.end(this)
    this.#end(this.#cutOff ?? new CallError('network', failureThrough(this.#proxy, error, networkFailure(error))))
  }

  #stop(error: CallError): void {
    this.#cutOff = error
    this.#end(error)
    this.#controller?.abort(error)
  }

  /** A call that was cut off may still be answered, or fail, afterwards. */
  #end(answer: HttpResponse | CallError): void {
    if (this.#isDone) return
    this.#isDone = true
    this.#done(answer)
  }
}

/** Work under way with a deadline. */
export interface Timed extends OneUnderWay<Timed> {
  /** The deadline, by the monotonic clock. */
  endsAt: number
  /** Too late: called once, unless it was ended before. */
  expire(): void
}

/**
 * Deadlines that are all equally far away, on one timer: the oldest is late first. A timer of its own for each
 * call was set and taken back in vain. By the monotonic clock: a clock that is set ends no call.
 */
export class Deadlines {
  readonly #ms: number
  readonly #underWay = new UnderWay<Timed>()
  #timer: NodeJS.Timeout | undefined

  constructor(ms: number) {
    this.#ms = ms
  }

  begin(timed: Timed): void {
    timed.endsAt = performance.now() + this.#ms
    this.#underWay.add(timed)
    if (this.#timer === undefined) this.#ringIn(this.#ms)
  }

  end(timed: Timed): void {
    this.#underWay.delete(timed)
  }

  /** The timer is left to ring when nothing is under way any more: next to a call that lasts it costs nothing. */
  #ringIn(ms: number): void {
    this.#timer = setTimeout(() => this.#ring(), Math.max(1, Math.ceil(ms))).unref()
  }

  #ring(): void {
    this.#timer = undefined
    const now = performance.now()
    for (const timed of this.#underWay) {
      if (timed.endsAt > now) {
        this.#ringIn(timed.endsAt - now)
        return
      }
      this.#underWay.delete(timed)
      timed.expire()
    }
  }
}
