import type { FastifyRequest } from 'fastify'
import { removeContact, setContact } from '../../../operations/accounts.ts'
import { formatSpan } from '../../../text/format-number.ts'
import { html } from '../../../text/html.ts'
import { formTokenField } from '../../access/forms.ts'
import { Problem, unknownAccount } from '../../problem.ts'
import { hubIdOf } from '../../query.ts'
import type { WebDeps } from '../../web-deps.ts'
import { operationForm, sentFields } from '../operation-form.ts'
import type { DoForm, OperatorPage } from '../page.ts'
import { accountTitle } from '../parts/cells.ts'

/** An empty field takes the contact away. */
export const contactByForm: DoForm = (deps, request) => {
  const change =
    sentFields(request).contact === ''
      ? operationForm(removeContact, ({ hubId }) => `/accounts/${hubId}?done=contact-removed`)
      : operationForm(setContact, ({ hubId }) => `/accounts/${hubId}?done=contact-set`)
  return change(deps, request)
}

/** The page before an uninstall: it lists the effects. */
export async function confirmUninstall(
  { registry, uninstallKeepMs }: WebDeps,
  request: FastifyRequest,
): Promise<OperatorPage> {
  if (!request.mayWrite) throw new Problem(403, 'To uninstall an account you need an admin token with the scope write.')
  const hubId = hubIdOf(request)
  const account = await registry.get(hubId)
  if (account === undefined) throw unknownAccount(hubId)
  const body = html`<p>We revoke the token now and delete all data in ${formatSpan(uninstallKeepMs)}. The customer must install the app again to undo this.</p>
<form method="post" action="/accounts/${hubId}/uninstall" class="form panel">
${formTokenField(request.formToken)}
<label>Reason <input name="reason" maxlength="200" autocomplete="off" placeholder="for the log"></label>
<div class="row"><button class="grave">Uninstall</button> <a class="button" href="/accounts/${hubId}">Cancel</a></div>
</form>`
  return { at: '/accounts', title: `Uninstall ${accountTitle(account)}?`, body }
}
