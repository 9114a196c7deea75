import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import * as z from 'zod'
import type { AlertLevel } from '../../../alerts/alert.ts'
import { kindOf } from '../../../alerts/alert-state.ts'
import { type OpenState, openStatesOf } from '../../../alerts/open-alerts.ts'
import { newSilence } from '../../../alerts/silences/new-silence.ts'
import type { Matcher, MatcherName } from '../../../alerts/silences/silence.ts'
import { parseSeriesId } from '../../../limits/series.ts'
import { NOBODY } from '../../../redis/steps.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { goTo } from '../../access/accept-forms.ts'
import type { Actions } from '../../actions.ts'
import { Problem } from '../../problem.ts'
import { check, oneOf } from '../../query.ts'
import type { PagesDeps } from '../pages-deps.ts'
import { matchersFor } from '../parts/alert-links.ts'
import type { Done } from '../parts/flash.ts'
import { LENGTHS } from './silence-fields.ts'

type Deps = PagesDeps & { actions: Pick<Actions, 'acknowledge' | 'silence'> }

/** Acknowledges or silences what was chosen in the list of alerts: whole accounts, and single alerts. */
export function serveSelectionForm(app: FastifyInstance, deps: Deps): void {
  app.post('/alerts/selected', (request, reply) => answer(deps, request, reply))
}

function listOf<T extends z.ZodType>(item: T) {
  return z.preprocess(
    (given) => (given === undefined ? [] : Array.isArray(given) ? given : [given]),
    z.array(item).max(500),
  )
}

const FORM = z.object({
  do: oneOf(['acknowledge', 'silence']),
  for: oneOf(['1h', '4h', '24h', '7d']).default('4h'),
  comment: z
    .string()
    .max(500)
    .default('')
    .transform((given) => cleanText(given, 500)),
  account: listOf(
    z
      .string()
      .regex(/^\d{1,15}$/, 'is no account')
      .transform(Number),
  ),
  // An account, one of its alerts, and the level that the reader saw.
  alert: listOf(z.string().regex(/^\d{1,15}\/[0-9a-f]{16}\/(warning|critical)$/, 'is no alert')),
})
type Form = z.output<typeof FORM>

async function answer(deps: Deps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const form = check(FORM, request.body ?? {})
  const chosen = await chosenAlerts(deps, form)
  if (chosen.length === 0) return goTo(reply, '/alerts?done=nothing-chosen')
  const done =
    form.do === 'acknowledge'
      ? await acknowledge(deps, chosen, { by: request.caller, comment: form.comment || undefined })
      : await silence(deps, chosen, form, request.caller)
  return goTo(reply, `/alerts?done=${done}`)
}

interface Chosen {
  open: OpenState
  /** As the reader saw it. */
  level: AlertLevel
  /** With its whole account. */
  withAccount: boolean
}

async function chosenAlerts(deps: Deps, { account, alert }: Form): Promise<Chosen[]> {
  const single = alert
    .map((value) => value.split('/'))
    .map(([hubId, id, level]) => ({ hubId: Number(hubId), id, level }))
  const hubIds = [...new Set([...account, ...single.map(({ hubId }) => hubId)])]
  const all = await Promise.all(hubIds.map((hubId) => openStatesOf(deps.store, deps.keys, hubId)))
  return all.flat().flatMap((open): Chosen[] => {
    if (account.includes(open.hubId)) return [{ open, level: open.state.level, withAccount: open.hubId !== NOBODY }]
    const found = single.find(({ hubId, id }) => hubId === open.hubId && id === open.id)
    return found === undefined ? [] : [{ open, level: found.level as AlertLevel, withAccount: false }]
  })
}

async function acknowledge(
  { actions }: Deps,
  chosen: readonly Chosen[],
  by: { by: string; comment: string | undefined },
): Promise<Done> {
  const outcomes = await Promise.all(
    chosen.map(({ open: { id, hubId }, level }) => actions.acknowledge({ id, hubId, level }, by)),
  )
  return outcomes.some(({ is }) => is === 'gone-worse') ? 'some-worse' : 'acknowledged'
}

/** One silence for all accounts that were chosen whole, one for each alert. */
async function silence({ actions, clock }: Deps, chosen: readonly Chosen[], form: Form, author: string): Promise<Done> {
  const now = clock.now()
  const accounts = new Set(chosen.flatMap(({ open, withAccount }) => (withAccount ? [String(open.hubId)] : [])))
  const whole: Matcher[][] = accounts.size === 0 ? [] : [[...accounts].map((value) => ({ name: 'account', value }))]
  const single = chosen.filter(({ withAccount }) => !withAccount).map(({ open }) => matchersOf(open))
  for (const matchers of [...whole, ...single]) {
    const comment = form.comment || 'chosen in the list of alerts'
    const made = newSilence({ matchers, author, comment, endsAt: now + LENGTHS[form.for] }, now)
    if (!made.ok) throw new Problem(400, `${made.what}: ${made.fault}`)
    await actions.silence(made.silence)
  }
  return 'silenced'
}

function matchersOf({ hubId, field, state }: OpenState): Matcher[] {
  const series = parseSeriesId(field)
  const fields = matchersFor({
    ...{ hubId: hubId === NOBODY ? null : hubId, kind: kindOf(hubId, field), rule: state.rule, level: state.level },
    ...(series === undefined ? {} : { series }),
  })
  return Object.entries(fields).map(([name, value]) => ({ name: name as MatcherName, value }))
}
