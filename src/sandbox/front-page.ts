import type { FastifyInstance } from 'fastify'
import { send } from './answer.ts'
import { html, page } from './pages.ts'
import type { SandboxParts } from './provider-route.ts'

/** `/`: what this is and where everything in it is found. */
export function serveFrontPage(server: FastifyInstance, { app, world }: SandboxParts, smtpUrl: () => string): void {
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
