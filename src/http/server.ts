import type { IncomingMessage, RequestListener } from 'node:http'
import fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import type { Clock } from '../runtime/clock.ts'
import { createServer } from '../runtime/node-http.ts'
import { NEEDS_NO_DATA } from './access/access.ts'
import { AdminTokenStore } from './access/admin-tokens.ts'
import { createNoteRefusal } from './access/client.ts'
import { guardRequest } from './access/guard.ts'
import { KnownTokens, type OwnTokens } from './access/known-tokens.ts'
import { createSessions, EndedSessions, SignInLink } from './access/session.ts'
import { createPersonReader, type TrustedHeaders } from './access/trusted-person.ts'
import { about, answerClientError, answerError, sendProblem } from './answer-error.ts'
import { apiOf } from './api/serve-api.ts'
import { type Asset, readAssets, serveAssets } from './assets/serve-assets.ts'
import { brandAssets } from './brand.ts'
import { Connections } from './connections.ts'
import { countRequest, registerGauges } from './metrics.ts'
import { serveAcknowledgeLinks } from './pages/acknowledge-link.ts'
import { serveInstall } from './pages/install/serve-install.ts'
import { servePages } from './pages/serve-pages.ts'
import { type Guard, serveSignIn } from './pages/sign-in.ts'
import { Problem } from './problem.ts'
import { type KnownRoutes, knowRoutes, refuseOtherMethods } from './refuse-other-methods.ts'
import { RequestLine } from './request-line.ts'
import { acceptDomains } from './search-accounts.ts'
import { serveProbes } from './serve-probes.ts'
import type { WebDeps } from './web-deps.ts'

export interface HttpDeps extends WebDeps {
  listen: { host: string; port: number }
  /** Nothing but the addresses for monitoring: pages, API and installs are another daemon's. */
  probesOnly: boolean
  adminTokens: OwnTokens
  openMetrics: boolean
  /** Undefined: no proxy signs people in. */
  trusted: TrustedHeaders | undefined
  /** True until the data and the keys are checked. */
  isStarting: () => boolean
}

export interface HttpServer {
  /** On this machine, with the port that it really has. */
  readonly url: string
  /** Signs in, once; at the address above. */
  readonly signInPath: string
  /** Which methods each address takes. */
  readonly routes: KnownRoutes
  /**
   * Makes the answering part by these. The resolved function puts it in force: it answers requests from then on, those in
   * progress end by the part with which they began.
   */
  prepare(deps: HttpDeps): Promise<() => Promise<void>>
  /**
   * Lets requests under way end, for up to `atMostMs`: an install that is being stored must end, a connection that
   * dawdles need not.
   */
  close(atMostMs: number): Promise<void>
}

/** The head of a request has ten seconds to arrive, its body too, unless it is a file; node checks for late ones every thirty by default. */
const BODY_TIMEOUT_MS = 10_000
const TIMEOUTS = {
  headersTimeout: 10_000,
  requestTimeout: 0,
  connectionsCheckingInterval: 1_000,
  keepAliveTimeout: 72_000,
}
const STARTING = 'This daemon is starting. Try again shortly.'
const NO_PAGES = 'There is nothing at this address: this daemon serves no pages, another one does.'

/** The API checks by zod: by default fastify would load a compiler of JSON Schema, and keep some megabytes of it. */
const NO_SCHEMAS = { buildValidator: refuseSchema, buildSerializer: refuseSchema }

function refuseSchema(): never {
  throw new Error('only the API has schemas, and its own compiler: see api/serve-api.ts')
}

/** The socket, sessions and refusals last as long as the process; each config builds the answering part anew. */
export async function startHttpServer(deps: HttpDeps): Promise<HttpServer> {
  const assets = deps.probesOnly ? [] : [...readAssets(), ...brandAssets(deps.brand)]
  const lasting = { guard: guardOf(deps), assets, isClosing: false }
  let answering = await answersBy(deps, lasting)
  registerGauges(deps)
  const { server, connections } = listenInTurns((request, response) => answering.app.routing(request, response))
  const listening = fastify({
    logger: false,
    forceCloseConnections: 'idle',
    clientErrorHandler: answerClientError,
    serverFactory: () => server,
  })
  await listening.listen(deps.listen)
  return {
    url: urlOf(listening),
    signInPath: lasting.guard.link.path,
    routes: answering.routes,
    prepare: async (next) => {
      const prepared = await answersBy(next, lasting)
      return async () => {
        const { app: before } = answering
        answering = prepared
        registerGauges(next)
        // The server before takes no request any more; those in progress run to their end.
        await before.close()
      }
    },
    close: async (atMostMs) => {
      lasting.isClosing = true
      connections.closeUnused()
      await Promise.all([answering.app.close(), closeWithin(atMostMs, listening, deps.clock)])
    },
  }
}

/** Requests are begun in turns, so that everything else has its own; connections are so many that each is a small burden. */
function listenInTurns(begin: RequestListener) {
  const line = new RequestLine()
  const server = createServer(TIMEOUTS, (request, response) => {
    connections.note(request, response)
    line.take(request, response, () => begin(request, response))
  })
  const connections = new Connections(server)
  return { server, connections }
}

interface Lasting {
  guard: Guard
  assets: readonly Asset[]
  isClosing: boolean
}

async function answersBy(deps: HttpDeps, lasting: Lasting) {
  const app = fastify({
    logger: false,
    bodyLimit: 64 * 1024,
    // A domain has up to 255 characters.
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 300 },
    schemaController: { compilersFactory: NO_SCHEMAS },
    frameworkErrors: (error, request, reply) => {
      harden(reply)
      answerError(deps, error, request, reply)
    },
  })
  const routes = knowRoutes(app)
  addHooks(app, deps, { ...lasting, routes })
  acceptJsonOnly(app)

  serveProbes(app, deps)
  if (!deps.probesOnly) servePeopleAndPrograms(app, deps, lasting)
  await app.ready()
  return { app, routes }
}

function servePeopleAndPrograms(app: FastifyInstance, deps: HttpDeps, { guard, assets }: Lasting): void {
  acceptDomains(app, deps)
  serveAssets(app, assets)
  serveInstall(app, deps)
  servePages(app, deps)
  serveSignIn(app, { ...deps, guard })
  app.register((scope, _options, done) => {
    serveAcknowledgeLinks(scope, deps)
    done()
  })
  app.register(apiOf(deps), { prefix: '/api/v1' })
}

function guardOf({
  adminTokens,
  openMetrics,
  trusted,
  publicUrl,
  store,
  keys,
  connect,
  audit,
  clock,
  log,
}: HttpDeps): Guard {
  const stores = { named: new AdminTokenStore(store, keys, connect.vault), ended: new EndedSessions(store, keys) }
  const known = new KnownTokens(adminTokens, stores, { clock, log })
  void known.current() // So that there is a last list to hold on to from the start.
  return {
    known,
    sessions: createSessions(connect.vault, publicUrl),
    link: new SignInLink(),
    noteRefusal: createNoteRefusal(clock, log, audit),
    audit,
    personOf: createPersonReader(trusted, publicUrl),
    trusted,
    openMetrics,
    publicUrl,
  }
}

/** Adds the fields of a request that the guard fills. */
export function decorateRequests(app: FastifyInstance): void {
  app.decorateRequest('signedIn', false)
  app.decorateRequest('caller', '')
  app.decorateRequest('mayRead', false)
  app.decorateRequest('mayWrite', false)
  app.decorateRequest('mayAudit', false)
  app.decorateRequest('via', 'session')
  app.decorateRequest('formToken', '')
}

function addHooks(app: FastifyInstance, deps: HttpDeps, lasting: Lasting & { routes: KnownRoutes }): void {
  decorateRequests(app)
  app.addHook('onRequest', async (request, reply) => {
    harden(reply)
    // A daemon without pages has nothing to sign in for.
    if (deps.probesOnly && request.route === undefined) return undefined
    if (deps.isStarting() && !NEEDS_NO_DATA.has(request.route ?? ''))
      throw new Problem(503, STARTING, { 'retry-after': '2' })
    const ended = await guardRequest(lasting.guard, deps.clock, request, reply)
    return ended ?? refuseOtherMethods(lasting.routes, request, reply)
  })
  app.addHook('preParsing', async ({ raw, routeOptions }) => {
    if (routeOptions.config.takesFile !== true) endLateBody(raw)
  })
  app.addHook('onSend', async (request, reply) => {
    // A token that was made or removed counts from this answer on.
    if (request.routeOptions.config.scope === 'admin') lasting.guard.known.readAnew()
    // A connection that is kept would hold up the end.
    if (lasting.isClosing) reply.header('connection', 'close')
  })
  app.addHook('onResponse', async (request, reply) => {
    countRequest(deps.metrics, request, reply)
    const ms = Math.round(reply.elapsedTime)
    deps.log.debug({ code: 'http.request', ...about(request), status: reply.statusCode, ms }, 'request')
  })
  app.setNotFoundHandler((request, reply) =>
    sendProblem(
      deps.brand,
      request,
      reply,
      new Problem(404, deps.probesOnly ? NO_PAGES : 'There is nothing at this address.'),
    ),
  )
  app.setErrorHandler((error, request, reply) => answerError(deps, error, request, reply))
}

function endLateBody(request: IncomingMessage): void {
  const late = () => {
    // A body that nobody reads has no end: that its answer takes long is no fault of the client.
    if (request.complete) return
    answerClientError({ name: 'Error', message: 'late', code: 'ERR_HTTP_REQUEST_TIMEOUT' }, request.socket)
  }
  const timer = setTimeout(late, BODY_TIMEOUT_MS).unref()
  for (const event of ['end', 'close']) request.once(event, () => clearTimeout(timer))
}

const HEADERS = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  // The address of the callback carries a code: no link may pass it on.
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
}

function harden(reply: FastifyReply): void {
  reply.headers(HEADERS)
}

/** Nothing but JSON, and no body at all where one is optional: forms, which a stranger's page can send, are refused. */
export function acceptJsonOnly(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, undefined)
    else void parseJson(request, String(body), done)
  })
}

function urlOf(app: FastifyInstance): string {
  const address = app.server.address()
  if (address === null || typeof address === 'string') throw new Error('the HTTP server has no address')
  const wildcard = address.address === '0.0.0.0' || address.address === '::'
  const host = wildcard ? '127.0.0.1' : address.family === 'IPv6' ? `[${address.address}]` : address.address
  return `http://${host}:${address.port}`
}

async function closeWithin(ms: number, app: FastifyInstance, clock: Clock): Promise<void> {
  const closed = new AbortController()
  const cutOff = clock.wait(ms, closed.signal).then(() => app.server.closeAllConnections())
  await app.close()
  closed.abort()
  await cutOff
}
