import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { html } from '../../../text/html.ts'
import { countCovered } from '../../../views/silenced.ts'
import { goTo } from '../../access/accept-forms.ts'
import { formToken } from '../../access/form-token.ts'
import type { Actions } from '../../actions.ts'
import { Problem } from '../../problem.ts'
import { showOperatorPage } from '../page.ts'
import type { PagesDeps } from '../pages-deps.ts'
import { checkForm, matchersOf, readSilenceForm, type SilenceFaults, type SilenceForm } from './silence-fields.ts'
import { silenceForm } from './silence-form.ts'

type Deps = PagesDeps & { actions: Pick<Actions, 'silence' | 'unsilence'> }

export function serveSilencePage(app: FastifyInstance, deps: Deps): void {
  app.get('/silences/new', (request, reply) => {
    if (!request.mayWrite) throw new Problem(403, 'To silence alerts takes an admin token with the scope write.')
    const form = readSilenceForm(request.query)
    return showForm(deps, request, reply, { ...form, for: form.for === '' ? '4h' : form.for }, {}, 200)
  })
}

/** What the forms send. */
export function serveSilenceForms(app: FastifyInstance, deps: Deps): void {
  app.post('/silences/new', (request, reply) => makeSilence(deps, request, reply))
  app.post('/silences/:id/end', (request, reply) => endSilence(deps, request, reply))
}

async function makeSilence(deps: Deps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const form = readSilenceForm(request.body)
  if (form.do === 'preview') {
    return showForm(deps, request, reply, form, matchersOf(form, deps.silences.tagNames).faults, 200)
  }
  const checked = checkForm(form, request.caller, deps.silences.tagNames, deps.clock.now())
  if (!checked.ok) return showForm(deps, request, reply, form, checked.faults, 400)
  const { id } = await deps.actions.silence(checked.silence)
  return goTo(reply, `/alerts?done=silenced#${id}`)
}

async function endSilence({ actions }: Deps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { id } = request.params as { id: string }
  const ended = await actions.unsilence(id)
  if (ended.is === 'unknown') throw new Problem(404, `There is no silence ${id.slice(0, 40)}.`)
  return goTo(reply, `/alerts?done=${ended.is === 'over' ? 'over' : 'unsilenced'}#silences`)
}

async function showForm(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  form: SilenceForm,
  faults: SilenceFaults,
  status: number,
): Promise<FastifyReply> {
  const part = {
    ...{ form, faults, tags: deps.silences.tagNames, token: formToken(request), now: deps.clock.now() },
    covers: await coveredBy(deps, form),
  }
  const body = html`${Object.keys(faults).length === 0 ? undefined : html`<p class="verdict critical">Not silenced yet: see below.</p>`}
${silenceForm(part)}`
  return showOperatorPage(request, reply, { at: '/alerts', title: 'New silence', body }, status)
}

/** How many open alerts a form means as it stands. */
export async function coveredBy(deps: PagesDeps, form: SilenceForm): Promise<number | undefined> {
  const { matchers, faults } = matchersOf(form, deps.silences.tagNames)
  if (matchers.length === 0 || Object.keys(faults).length > 0) return undefined
  const [silence] = deps.silences.withCarriers([{ id: '', matchers, author: '', comment: '', createdAt: 0, endsAt: 0 }])
  return silence === undefined ? undefined : (await countCovered(deps, [silence])).get('')
}
