import type { FastifyRequest } from 'fastify'
import * as z from 'zod'
import { html } from '../../../text/html.ts'
import { formTokenField } from '../../access/forms.ts'
import { whoOf } from '../../access/who.ts'
import { Problem, unknownAccount } from '../../problem.ts'
import { check, hubIdOf, mailbox } from '../../query.ts'
import { requireRedis } from '../../redis-away.ts'
import type { WebDeps } from '../../web-deps.ts'
import type { DoForm, OperatorPage } from '../page.ts'
import { accountTitle } from '../parts/cells.ts'
import type { Done } from '../parts/forms.ts'

/** Buttons of an account: the same actions as in the API and on the command line. */
export const pollByForm = ofAccount(async ({ actions }, hubId, request) => {
  const { reason } = await actions.poll(hubId, whoOf(request))
  return reason === undefined ? 'polled' : 'poll-failed'
})

export const refreshByForm = ofAccount(async ({ actions }, hubId, request) =>
  'why' in (await actions.refresh(hubId, whoOf(request))) ? 'refresh-failed' : 'refreshed',
)

const CONTACT = z.object({ contact: mailbox().or(z.literal('')) })

/** An empty field takes the contact away. */
export const contactByForm = ofAccount(async ({ actions }, hubId, request) => {
  const { contact } = check(CONTACT, request.body ?? {})
  await actions.setContact(hubId, contact === '' ? null : contact, whoOf(request))
  return contact === '' ? 'contact-removed' : 'contact-set'
})

const UNINSTALL = z.object({ reason: z.string().trim().max(200, 'is longer than 200 characters').default('') })

export const uninstallByForm = ofAccount(async ({ actions }, hubId, request) => {
  const { reason } = check(UNINSTALL, request.body ?? {})
  await actions.uninstall(hubId, reason === '' ? 'asked for on its page' : reason, whoOf(request))
  return 'uninstalling'
})

function ofAccount(act: (deps: WebDeps, hubId: number, request: FastifyRequest) => Promise<Done>): DoForm {
  return async (deps, request) => {
    await requireRedis(deps.store)
    const hubId = hubIdOf(request)
    if ((await deps.registry.get(hubId)) === undefined) throw unknownAccount(hubId)
    // Also where it failed: a page at the form's address would do it again when it is loaded again.
    return `/accounts/${hubId}?done=${await act(deps, hubId, request)}`
  }
}

/** The page before an uninstall: it lists the effects. */
export async function confirmUninstall({ registry }: WebDeps, request: FastifyRequest): Promise<OperatorPage> {
  if (!request.mayWrite) throw new Problem(403, 'To uninstall an account takes an admin token with the scope write.')
  const hubId = hubIdOf(request)
  const account = await registry.get(hubId)
  if (account === undefined) throw unknownAccount(hubId)
  const body = html`<p>From then on nothing is refreshed or polled, and no alert is sent. A job deletes the refresh token at the provider; later everything that is kept of the account is deleted, its history too. To undo it, the account must be connected again.</p>
<form method="post" action="/accounts/${hubId}/uninstall" class="form panel">
${formTokenField(request.formToken)}
<label>Reason <input name="reason" maxlength="200" autocomplete="off" placeholder="for the log"></label>
<div class="row"><button class="grave">Uninstall</button> <a class="button" href="/accounts/${hubId}">Cancel</a></div>
</form>`
  return { at: '/accounts', title: `Uninstall ${accountTitle(account)}?`, body }
}
