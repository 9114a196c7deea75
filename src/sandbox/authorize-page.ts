import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { html } from '../text/html.ts'
import { type Answer, send } from './answer.ts'
import { page } from './pages.ts'
import { formOf, type RegisteredApp, type SandboxParts, timeNow } from './provider-route.ts'
import type { Hub, World } from './world.ts'

function needed(name: string) {
  const error = `${name} is missing`
  return z.string(error).min(1, error)
}

/** The app's request, when it sends a person to the install page, with that person's answer in a POST. */
const installShape = z.object({
  client_id: needed('client_id'),
  redirect_uri: needed('redirect_uri').refine(isWebAddress, 'redirect_uri must be an absolute http or https address'),
  scopes: needed('scopes').transform(listOf),
  optional_scopes: z.string().default('').transform(listOf),
  state: z.string().optional(),
  account: z.string().optional(),
  decision: z.string().optional(),
})

type InstallRequest = z.output<typeof installShape>

function isWebAddress(text: string): boolean {
  return URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol)
}

function listOf(scopes: string): string[] {
  return [...new Set(scopes.split(/\s+/).filter((scope) => scope !== ''))]
}

/** The install page. A POST to its address approves, with and without having seen it. */
export function serveAuthorizePage(server: FastifyInstance, parts: SandboxParts): void {
  const { app, world } = parts
  const journaled = (request: FastifyRequest, reply: FastifyReply, account: Hub | undefined, answer: Answer) => {
    const { method } = request
    const { status } = answer
    const hubId = account?.hubId ?? null
    parts.journal.add({ time: timeNow(parts), endpoint: 'authorize', method, hubId, status })
    return send(reply, answer)
  }
  server.route({
    method: ['GET', 'POST'],
    url: '/oauth/authorize',
    handler: (request, reply) => {
      const asked = readInstallRequest(request, app)
      if (typeof asked === 'string') return journaled(request, reply, undefined, refusalPage(asked))
      const account = world.account(Number(asked.account))
      const answer = request.method === 'GET' ? installPage(asked, world) : decided(asked, account, world)
      return journaled(request, reply, account, answer)
    },
  })
}

/** From query string and form body together; the body wins. A text is the problem with it. */
function readInstallRequest(request: FastifyRequest, app: RegisteredApp): InstallRequest | string {
  const query = request.raw.url?.split('?').slice(1).join('?')
  const given = { ...Object.fromEntries(new URLSearchParams(query)), ...formOf(request) }
  // The interface has `scopes`, the provider's own client sends `scope`.
  const { scopes = given.scope, optional_scopes = given.optional_scope } = given
  const { data, error } = installShape.safeParse({ ...given, scopes, optional_scopes })
  if (error !== undefined) return error.issues[0]?.message ?? ''
  return data.client_id === app.clientId ? data : 'no app has this client_id'
}

function decided(asked: InstallRequest, account: Hub | undefined, world: World): Answer {
  if (asked.decision === 'cancel') {
    return redirect(asked, { error: 'access_denied', error_description: 'The user did not connect the app.' })
  }
  if (account === undefined) {
    return refusalPage(asked.account === undefined ? 'account is missing' : 'there is no such account')
  }
  const scopes = [...new Set([...asked.scopes, ...asked.optional_scopes])]
  return redirect(asked, { code: world.approve(account, scopes, asked.redirect_uri) })
}

function redirect({ redirect_uri, state }: InstallRequest, parameters: Record<string, string>): Answer {
  const address = new URL(redirect_uri)
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value)
  if (state !== undefined) address.searchParams.set('state', state)
  return { status: 302, body: '', headers: { location: address.href, 'cache-control': 'no-store' } }
}

function refusalPage(problem: string): Answer {
  const body = html`<div class="card"><h1>This app can't be connected</h1><p>${problem}.</p></div>`
  return page(400, "This app can't be connected", body, 'narrow')
}

function installPage(asked: InstallRequest, world: World): Answer {
  const accounts = [...world.accounts()]
  const suggested = accounts.find((account) => !account.installed) ?? accounts[0]
  const list = (scopes: readonly string[]) =>
    html`<ul>${scopes.map((scope) => html`<li><code>${scope}</code></li>`)}</ul>`
  const body = html`<div class="card">
<h1>Connect an app to your account</h1>
<p class="soft">The app <code>${asked.client_id}</code> at <code>${new URL(asked.redirect_uri).host}</code> asks for access.</p>
<h2>It asks for</h2>
${list(asked.scopes)}
${asked.optional_scopes.length === 0 ? undefined : html`<h2>It would also like</h2>${list(asked.optional_scopes)}`}
<form method="post">
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

function accountOption({ hubId, hubDomain, installed }: Hub, isSelected: boolean) {
  const selected = isSelected ? html` selected` : undefined
  return html`<option value="${hubId}"${selected}>${hubDomain} (${hubId})${installed ? ' – connected' : ''}</option>`
}
