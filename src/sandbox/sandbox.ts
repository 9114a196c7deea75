import Fastify, { type FastifyInstance } from 'fastify'
import type { Clock } from '../runtime/clock.ts'
import { Lifecycle } from '../runtime/lifecycle.ts'
import { html } from '../text/html.ts'
import { json, send } from './answer.ts'
import { serveAuthorizePage } from './authorize-page.ts'
import { serveControl } from './control.ts'
import { Faults } from './faults.ts'
import { serveHookSink } from './hooks.ts'
import { openInbox } from './inbox.ts'
import { serveLimits } from './limits-api.ts'
import { Newest } from './newest.ts'
import { serveOAuth } from './oauth.ts'
import { page } from './pages.ts'
import { pathNotFound } from './provider-errors.ts'
import { type SandboxParts, timeNow } from './provider-route.ts'
import type { Scenario } from './scenario.ts'
import { World } from './world.ts'

export interface SandboxOptions {
  /** 0: any free one. */
  port: number
  /** 0: any free one. */
  smtpPort: number
  /** How many accounts there are from the start, with hub ids from 1000001 on. None has the app installed. */
  accounts: number
  tokenLifetimeMs: number
  rotateRefreshTokens: boolean
  /** About how many characters an access token has, 200 at least. Default: around 330, changing from one to the next. */
  accessTokenLength?: number
  scenario: Scenario
  clientId: string
  clientSecret: string
}

export interface Sandbox {
  /** `http://127.0.0.1:PORT`, without a slash at the end. */
  readonly url: string
  /** `smtp://127.0.0.1:PORT`. */
  readonly smtpUrl: string
  close(): Promise<void>
  /** Every code and token issued (the newest 100,000 at least), for tests that search for leaks. Never served over HTTP. */
  issuedTokens(): readonly string[]
}

const HOST = '127.0.0.1'

/** Builds everything, in order; straight and long on purpose. */
export async function startSandbox(options: SandboxOptions, clock: Clock): Promise<Sandbox> {
  const lifecycle = new Lifecycle()
  const closing = new AbortController()
  const parts: SandboxParts = {
    app: { clientId: options.clientId, clientSecret: options.clientSecret },
    clock,
    world: new World(options, clock),
    faults: new Faults(),
    journal: new Newest(200_000),
    mails: new Newest(20_000, ({ raw }) => raw.length),
    hooks: new Newest(50_000, ({ rawBody }) => rawBody.length),
    closing: closing.signal,
  }
  let smtpUrl = ''
  const server = httpServer(parts)
  serveOAuth(server, parts)
  serveAuthorizePage(server, parts)
  serveLimits(server, parts)
  serveControl(server, parts)
  serveHookSink(server, parts)
  serveFrontPage(server, parts, () => smtpUrl)
  try {
    lifecycle.onClose('the web server', () => server.close())
    const url = await server.listen({ port: options.port, host: HOST })
    const inbox = await openInbox(parts, { port: options.smtpPort, host: HOST })
    lifecycle.onClose('the inbox', () => inbox.close())
    lifecycle.onClose('delayed answers', () => closing.abort())
    smtpUrl = `smtp://${HOST}:${inbox.port}`
    return { url, smtpUrl, close: () => lifecycle.close(), issuedTokens: () => parts.world.issued() }
  } catch (cause) {
    await lifecycle.close()
    throw new Error(`the sandbox could not start: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}

/** Room for reports and hostile answers of any size that a test may want. */
const LARGEST_BODY = 64 * 1024 * 1024
/** Tokens travel in paths; the router's own limit of 100 characters would refuse every one. */
const LONGEST_PATH_PARAMETER = 10_000

function httpServer(parts: SandboxParts): FastifyInstance {
  const server = Fastify({
    bodyLimit: LARGEST_BODY,
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: LONGEST_PATH_PARAMETER },
  })
  // Bodies are read where they are used: the content type that a client declares is part of the check there.
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  server.setNotFoundHandler((request, reply) => {
    if (request.url.startsWith('/sandbox')) return send(reply, json(404, { error: 'there is no such path' }))
    const answer = pathNotFound()
    const { status } = answer
    parts.journal.add({ time: timeNow(parts), endpoint: 'other', method: request.method, hubId: null, status })
    return send(reply, answer)
  })
  return server
}

/** `/`: an introduction to the sandbox, with links to its parts. */
function serveFrontPage(server: FastifyInstance, { app, world }: SandboxParts, smtpUrl: () => string): void {
  server.get('/', (_request, reply) => {
    const accounts = [...world.accounts()]
    const installed = accounts.filter((account) => account.installed).length
    const body = html`<h1>Sandbox</h1>
<p>A stand-in for the CRM provider, with a mail inbox and a webhook sink. Nothing here is real, and nothing leaves this machine.</p>
<div class="card"><table>
<tr><th>Accounts</th><td><a href="/sandbox/accounts">${accounts.length}, of which ${installed} connected</a></td></tr>
<tr><th>Mail</th><td><a href="/sandbox/inbox">Inbox</a> of <code>${smtpUrl()}</code></td></tr>
<tr><th>Webhooks</th><td><a href="/sandbox/hooks">Received</a> at <code>POST /sandbox/hooks</code> and below</td></tr>
<tr><th>Requests</th><td><a href="/sandbox/requests">All so far</a></td></tr>
<tr><th>Faults</th><td><a href="/sandbox/faults">Standing</a>; <code>POST /sandbox/faults</code> adds one</td></tr>
<tr><th>Install page</th><td><code>/oauth/authorize</code> for the app <code>${app.clientId}</code></td></tr>
</table></div>`
    return send(reply, page(200, 'Sandbox', body))
  })
}
