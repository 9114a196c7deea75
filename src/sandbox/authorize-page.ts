import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Answer, send } from './answer.ts'
import { markup, page } from './pages.ts'
import { formOf, type RegisteredApp, type SandboxParts } from './provider-route.ts'
import type { Hub, World } from './world.ts'

/** The app's request, when it sends a person to the install page. */
interface InstallRequest {
  readonly redirectUri: string
  readonly scopes: readonly string[]
  readonly optionalScopes: readonly string[]
  readonly state: string | null
}

/** The install page. Everything it needs is in the parameters, so approving works with and without having seen it. */
export function serveAuthorizePage(server: FastifyInstance, { app, world, journal }: SandboxParts): void {
  const journalled = (request: FastifyRequest, reply: FastifyReply, hubId: number | null, answer: Answer) => {
    journal.open({ endpoint: 'authorize', method: request.method, hubId }).status = answer.status
    return send(reply, answer)
  }

  server.get('/oauth/authorize', (request, reply) => {
    const asked = readInstallRequest(parametersOf(request), app)
    const answer = 'problem' in asked ? refusalPage(asked.problem) : installPage(asked, app, world)
    return journalled(request, reply, null, answer)
  })

  server.post('/oauth/authorize', (request, reply) => {
    const parameters = parametersOf(request)
    const asked = readInstallRequest(parameters, app)
    if ('problem' in asked) return journalled(request, reply, null, refusalPage(asked.problem))
    if (parameters.get('decision') === 'cancel') return journalled(request, reply, null, cancelled(asked))
    const account = world.account(Number(parameters.get('account')))
    if (account === undefined) {
      const problem = parameters.has('account') ? 'there is no such account' : 'account is missing'
      return journalled(request, reply, null, refusalPage(problem))
    }
    return journalled(request, reply, account.hubId, approved(asked, account, world))
  })
}

/** Query string and form body together; the body wins. */
function parametersOf(request: FastifyRequest): URLSearchParams {
  const query = request.raw.url?.split('?').slice(1).join('?') ?? ''
  const parameters = new URLSearchParams(query)
  for (const [name, value] of formOf(request) ?? []) parameters.set(name, value)
  return parameters
}

function readInstallRequest(parameters: URLSearchParams, app: RegisteredApp): InstallRequest | { problem: string } {
  if (!parameters.get('client_id')) return { problem: 'client_id is missing' }
  if (parameters.get('client_id') !== app.clientId) return { problem: 'no app has this client_id' }
  const redirectUri = parameters.get('redirect_uri') ?? ''
  if (redirectUri === '') return { problem: 'redirect_uri is missing' }
  if (!isWebAddress(redirectUri)) return { problem: 'redirect_uri must be an absolute http or https address' }
  // The interface has `scopes`, the provider's own client sends `scope`.
  const scopes = listOf(parameters.get('scopes') ?? parameters.get('scope'))
  if (scopes.length === 0) return { problem: 'scopes is missing' }
  const optionalScopes = listOf(parameters.get('optional_scopes') ?? parameters.get('optional_scope'))
  return {
    redirectUri,
    scopes,
    optionalScopes: optionalScopes.filter((scope) => !scopes.includes(scope)),
    state: parameters.get('state'),
  }
}

function isWebAddress(text: string): boolean {
  return URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol)
}

function listOf(scopes: string | null): string[] {
  return [...new Set((scopes ?? '').split(/\s+/).filter((scope) => scope !== ''))]
}

function approved(asked: InstallRequest, account: Hub, world: World): Answer {
  return redirect(asked, {
    code: world.approve(account, [...asked.scopes, ...asked.optionalScopes], asked.redirectUri),
  })
}

function cancelled(asked: InstallRequest): Answer {
  return redirect(asked, { error: 'access_denied', error_description: 'The user did not connect the app.' })
}

function redirect({ redirectUri, state }: InstallRequest, parameters: Record<string, string>): Answer {
  const address = new URL(redirectUri)
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value)
  if (state !== null) address.searchParams.set('state', state)
  return { status: 302, body: '', headers: { location: address.href, 'cache-control': 'no-store' } }
}

function refusalPage(problem: string): Answer {
  const body = markup`<div class="card"><h1>This app can't be connected</h1><p>${problem}.</p></div>`
  return page(400, "This app can't be connected", body, 'narrow')
}

function installPage(asked: InstallRequest, app: RegisteredApp, world: World): Answer {
  const accounts = [...world.accounts()]
  const suggested = accounts.find((account) => !account.installed) ?? accounts[0]
  const list = (scopes: readonly string[]) =>
    markup`<ul>${scopes.map((scope) => markup`<li><code>${scope}</code></li>`)}</ul>`
  const hidden = (name: string, value: string) => markup`<input type="hidden" name="${name}" value="${value}">`
  const body = markup`<div class="card">
<h1>Connect an app to your account</h1>
<p class="soft">The app <code>${app.clientId}</code> at <code>${new URL(asked.redirectUri).host}</code> asks for access.</p>
<h2>It asks for</h2>
${list(asked.scopes)}
${asked.optionalScopes.length === 0 ? '' : markup`<h2>It would also like</h2>${list(asked.optionalScopes)}`}
<form method="post" action="/oauth/authorize">
${hidden('client_id', app.clientId)}
${hidden('redirect_uri', asked.redirectUri)}
${hidden('scopes', asked.scopes.join(' '))}
${asked.optionalScopes.length === 0 ? '' : hidden('optional_scopes', asked.optionalScopes.join(' '))}
${asked.state === null ? '' : hidden('state', asked.state)}
<label for="account">Account</label>
<select id="account" name="account" required>
${accounts.map((account) => accountOption(account, account === suggested))}
</select>
<div class="buttons">
<button class="main" name="decision" value="connect">Connect</button>
<button name="decision" value="cancel" formnovalidate>Cancel</button>
</div>
</form>
</div>`
  return page(200, 'Connect an app', body, 'narrow')
}

function accountOption({ hubId, hubDomain, installed }: Hub, selected: boolean) {
  const note = installed ? ' – connected' : ''
  return selected
    ? markup`<option value="${hubId}" selected>${hubDomain} (${hubId})${note}</option>`
    : markup`<option value="${hubId}">${hubDomain} (${hubId})${note}</option>`
}
