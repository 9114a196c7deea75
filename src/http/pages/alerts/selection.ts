import type { FastifyRequest } from 'fastify'
import * as z from 'zod'
import type { AlertLevel } from '../../../alerts/alert.ts'
import { kindOf } from '../../../alerts/alert-state.ts'
import { type OpenState, openStatesOf } from '../../../alerts/open-alerts.ts'
import type { Matcher } from '../../../alerts/silence.ts'
import { newSilence } from '../../../alerts/silence.ts'
import type { Who } from '../../../audit/audited.ts'
import { parseSeriesId } from '../../../limits/series.ts'
import { NO_ACCOUNT } from '../../../redis/steps.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { OPEN_KINDS } from '../../../views/find-alerts.ts'
import { whoOf } from '../../access/who.ts'
import { Problem } from '../../problem.ts'
import { check, oneOf } from '../../query.ts'
import type { WebDeps } from '../../web-deps.ts'
import { matchersFor } from '../parts/alert-links.ts'
import type { Done } from '../parts/forms.ts'
import { LENGTH_NAMES, SILENCE_LENGTHS } from './silence-fields.ts'

function listOf<T extends z.ZodType>(item: T) {
  return z.preprocess(
    (given) => (given === undefined ? [] : Array.isArray(given) ? given : [given]),
    z.array(item).max(2_000),
  )
}

/** An alert as the reader saw it: its account, its id, its level. */
const SEEN = z
  .string()
  .regex(/^\d{1,16}\/[0-9a-f]{16}\/(warning|critical)$/, 'is no alert')
  .transform((text) => {
    const [hubId, id, level] = text.split('/') as [string, string, AlertLevel]
    return { hubId: Number(hubId), id, level }
  })
type Seen = z.output<typeof SEEN>

const FORM = z.object({
  do: oneOf(['acknowledge', 'silence']),
  for: oneOf(LENGTH_NAMES).default('4h'),
  comment: z
    .string()
    .max(500)
    .default('')
    .transform((given) => cleanText(given, 500)),
  // Accounts stand for their alerts that the page showed, and no others.
  account: listOf(
    z
      .string()
      .regex(/^\d{1,16}$/, 'is no account')
      .transform(Number),
  ),
  shown: listOf(SEEN),
  alert: listOf(SEEN),
  // The list was narrowed by these.
  level: oneOf(['warning', 'critical']).optional(),
  kind: oneOf(OPEN_KINDS).optional(),
})
type Form = z.output<typeof FORM>

/** Acknowledges or silences the choice in the list of alerts: whole accounts, and single alerts. */
export async function actOnSelected(deps: WebDeps, request: FastifyRequest): Promise<string> {
  const form = check(FORM, request.body ?? {})
  const chosen = await chosenAlerts(deps, form)
  if (chosen.length === 0) return '/alerts?done=nothing-chosen'
  const done =
    form.do === 'acknowledge'
      ? await acknowledge(deps, chosen, form.comment || undefined, whoOf(request))
      : await silence(deps, chosen, form, whoOf(request))
  return `/alerts?done=${done}`
}

interface Chosen extends Seen {
  open: OpenState
  withAccount: boolean
}

async function chosenAlerts(deps: WebDeps, { account, shown, alert }: Form): Promise<Chosen[]> {
  const ofAccounts = shown.filter(({ hubId }) => account.includes(hubId))
  const isAlone = ({ id }: Seen) => !ofAccounts.some((one) => one.id === id)
  const chosen = [
    ...ofAccounts.map((seen) => ({ ...seen, withAccount: seen.hubId !== NO_ACCOUNT })),
    ...alert.filter(isAlone).map((seen) => ({ ...seen, withAccount: false })),
  ]
  const hubIds = [...new Set(chosen.map(({ hubId }) => hubId))]
  const open = (await Promise.all(hubIds.map((hubId) => openStatesOf(deps.store, deps.keys, hubId)))).flat()
  return chosen.flatMap((seen) => {
    const found = open.find(({ hubId, id }) => hubId === seen.hubId && id === seen.id)
    return found === undefined ? [] : [{ ...seen, open: found }]
  })
}

async function acknowledge(
  { actions }: WebDeps,
  chosen: readonly Chosen[],
  comment: string | undefined,
  who: Who,
): Promise<Done> {
  const by = { by: who.name, comment }
  const outcomes = await Promise.all(
    chosen.map(({ hubId, id, level }) => actions.acknowledge({ hubId, id, level }, by, who)),
  )
  return outcomes.some(({ is }) => is === 'gone-worse') ? 'some-worse' : 'acknowledged'
}

/** One silence for all accounts that were chosen whole, by the filter of the list; one for each alert. */
async function silence({ actions, clock }: WebDeps, chosen: readonly Chosen[], form: Form, who: Who): Promise<Done> {
  const now = clock.now()
  const accounts = [...new Set(chosen.flatMap(({ hubId, withAccount }) => (withAccount ? [String(hubId)] : [])))]
  const narrowed = (['level', 'kind'] as const).flatMap((name) =>
    form[name] === undefined ? [] : [{ name, value: form[name] }],
  )
  const whole =
    accounts.length === 0 ? [] : [[...accounts.map((value) => ({ name: 'account' as const, value })), ...narrowed]]
  const single = chosen.filter(({ withAccount }) => !withAccount).map(({ open }) => matchersOf(open))
  for (const matchers of [...whole, ...single]) {
    const comment = form.comment || 'chosen in the list of alerts'
    const made = newSilence({ matchers, author: who.name, comment, endsAt: now + SILENCE_LENGTHS[form.for].ms }, now)
    if (!made.ok) throw new Problem(400, `${made.what}: ${made.fault}`)
    await actions.silence(made.silence, who)
  }
  return 'silenced'
}

function matchersOf({ hubId, field, state }: OpenState): Matcher[] {
  const series = parseSeriesId(field)
  return matchersFor({
    hubId: hubId === NO_ACCOUNT ? null : hubId,
    kind: kindOf(hubId, field),
    rule: state.rule,
    level: state.level,
    ...(series === undefined ? {} : { series }),
  })
}
