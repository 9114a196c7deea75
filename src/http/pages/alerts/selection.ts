import type { FastifyRequest } from 'fastify'
import * as z from 'zod'
import type { AlertLevel } from '../../../alerts/alert.ts'
import { type Matcher, matchersText } from '../../../alerts/silence.ts'
import { acknowledgeAlert, showAlert } from '../../../operations/alerts.ts'
import { Refusal, type RefusalKind } from '../../../operations/refusal.ts'
import { makeSilence } from '../../../operations/silences.ts'
import { NO_ACCOUNT } from '../../../redis/steps.ts'
import { check, oneOf } from '../../query.ts'
import { runForPage } from '../../run-for-page.ts'
import type { WebDeps } from '../../web-deps.ts'
import { matchersFor } from '../parts/alert-links.ts'
import type { Done } from '../parts/forms.ts'

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
    return { hubId: Number(hubId) === NO_ACCOUNT ? undefined : hubId, id, level }
  })
type Seen = z.output<typeof SEEN>

/** The choice; the operations check the rest. */
const FORM = z.looseObject({
  do: oneOf(['acknowledge', 'silence']),
  // Accounts stand for their alerts that the page showed, and no others.
  account: listOf(z.string()),
  shown: listOf(SEEN),
  alert: listOf(SEEN),
  // The list was narrowed by these.
  level: z.string().optional(),
  kind: z.string().optional(),
})
type Form = z.output<typeof FORM>

/** Acknowledges or silences the choice in the list of alerts: whole accounts, and single alerts. */
export async function actOnSelected(deps: WebDeps, request: FastifyRequest): Promise<string> {
  const form = check(FORM, request.body ?? {})
  const whole = form.shown.filter(({ hubId = String(NO_ACCOUNT) }) => form.account.includes(hubId))
  const single = form.alert.filter(({ id }) => whole.every((one) => one.id !== id))
  if (whole.length + single.length === 0) return '/alerts?done=nothing-chosen'
  const act = form.do === 'acknowledge' ? acknowledge : silence
  return `/alerts?done=${await act(deps, { whole, single, form }, request)}`
}

interface Choice {
  /** The alerts of accounts that were chosen whole. */
  whole: readonly Seen[]
  single: readonly Seen[]
  form: Form
}

async function acknowledge(deps: WebDeps, { whole, single, form }: Choice, request: FastifyRequest): Promise<Done> {
  const { comment } = form
  const outcomes = await Promise.all(
    [...whole, ...single].map((seen) =>
      outcomeOf(runForPage(acknowledgeAlert, deps, { ...seen, comment }, request), ['unknown', 'conflict']),
    ),
  )
  return outcomes.includes('conflict') ? 'some-worse' : 'acknowledged'
}

/** One silence for all accounts that were chosen whole, by the filter of the list; one for each alert. */
async function silence(deps: WebDeps, { whole, single, form }: Choice, request: FastifyRequest): Promise<Done> {
  const accounts = new Set(whole.flatMap(({ hubId }) => hubId ?? []))
  const ofFleet = whole.filter(({ hubId }) => hubId === undefined)
  const chosen: Matcher[][] = []
  if (accounts.size > 0) {
    const matchers = [...accounts].map((value): Matcher => ({ name: 'account', value }))
    for (const name of ['level', 'kind'] as const) if (form[name]) matchers.push({ name, value: form[name] })
    chosen.push(matchers)
  }
  for (const { id, hubId } of [...ofFleet, ...single]) {
    const found = await outcomeOf(runForPage(showAlert, deps, { id, hubId }, request), ['unknown'])
    if (typeof found === 'object') chosen.push(matchersFor(found.value))
  }
  for (const matchers of chosen) {
    const comment = form.comment || 'chosen in the list of alerts'
    await runForPage(makeSilence, deps, { match: matchersText(matchers), for: form.for, comment }, request)
  }
  return 'silenced'
}

/** An alert may end, or get worse, while the reader chooses. */
async function outcomeOf<T>(run: Promise<T>, expected: readonly RefusalKind[]): Promise<T | RefusalKind> {
  return run.catch((error) => {
    if (error instanceof Refusal && expected.includes(error.kind)) return error.kind
    throw error
  })
}
