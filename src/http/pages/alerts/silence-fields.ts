import * as z from 'zod'
import { MATCHER_NAMES, type NewSilence, newSilence, parseMatchers } from '../../../alerts/silence.ts'
import { parseLocalTime } from '../../../text/format-time.ts'
import { countCovered } from '../../../views/silenced.ts'
import type { WebDeps } from '../../web-deps.ts'

/** How long a silence may be made for with one click. */
export const SILENCE_LENGTHS = {
  '1h': { ms: 3_600_000, text: '1 hour' },
  '4h': { ms: 14_400_000, text: '4 hours' },
  '24h': { ms: 86_400_000, text: '24 hours' },
  '7d': { ms: 604_800_000, text: '7 days' },
} as const
export const LENGTH_NAMES = Object.keys(SILENCE_LENGTHS) as [keyof typeof SILENCE_LENGTHS]
/** The choice that the field for the end belongs to. */
export const OWN_END = 'until'

/** A form of a silence as it was sent, or as it is filled in beforehand: a missing field is empty. */
const text = z.string().max(2_000).catch('')
const FORM = z.object({
  match: text,
  starts: text,
  for: text,
  until: text,
  comment: text,
  do: text,
  // The alert that it was begun from.
  alert: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .catch(''),
})
export type SilenceForm = z.output<typeof FORM>

/** Links of mails that were sent earlier have each matcher by its name. */
const EARLIER = z.object(Object.fromEntries(MATCHER_NAMES.map((name) => [name, text])))

export function readSilenceForm(given: unknown): SilenceForm {
  const form = FORM.parse(given ?? {})
  const earlier = Object.entries(EARLIER.parse(given ?? {})).filter(([, value]) => value.trim() !== '')
  return form.match === '' ? { ...form, match: earlier.map(([name, value]) => `${name}=${value}`).join(' ') } : form
}

/** Faults by the field of the form that shows them. */
export type SilenceFaults = Partial<Record<'matchers' | 'startsAt' | 'endsAt' | 'comment', string>>

type CheckedForm = Extract<NewSilence, { ok: true }> | { ok: false; faults: SilenceFaults }

/** Every fault at once: one by one they would take a round trip each. */
export function checkForm(form: SilenceForm, author: string, tags: readonly string[], now: number): CheckedForm {
  const parsed = parseMatchers(form.match, tags)
  const matchers = parsed.ok ? parsed.matchers : []
  const faults: SilenceFaults = parsed.ok ? {} : { matchers: parsed.fault }
  const given = form.starts.trim()
  const startsAt = given === '' ? now : parseLocalTime(given)
  if (startsAt === undefined) faults.startsAt = 'must be a time like 2026-11-21T10:00'
  const endsAt = endOf(form, Math.max(now, startsAt ?? now))
  if (endsAt === undefined) faults.endsAt = 'must be a time like 2026-11-21T10:00'
  const whole = newSilence(
    { matchers, author, comment: form.comment, startsAt, endsAt: endsAt ?? Math.max(now, startsAt ?? now) + 1 },
    now,
  )
  if (whole.ok && Object.keys(faults).length === 0) return { ok: true, silence: whole.silence }
  if (!whole.ok && whole.what !== 'author') faults[whole.what] ??= whole.fault
  if (form.comment.trim() === '') faults.comment = 'must not be empty: give the reason'
  return { ok: false, faults }
}

/** A length counts from the start. */
function endOf(form: Pick<SilenceForm, 'for' | 'until'>, startsAt: number): number | undefined {
  const length = LENGTH_NAMES.find((one) => one === form.for)
  if (length !== undefined) return startsAt + SILENCE_LENGTHS[length].ms
  return parseLocalTime(form.until.trim())
}

/** How many open alerts a form covers as it is filled in; undefined where it is not filled in right. */
export async function coveredBy(
  deps: Pick<WebDeps, 'store' | 'keys' | 'registry' | 'silences'>,
  form: SilenceForm,
): Promise<number | undefined> {
  const parsed = parseMatchers(form.match, deps.silences.tagNames)
  if (!parsed.ok || parsed.matchers.length === 0) return undefined
  const { matchers } = parsed
  const [silence] = deps.silences.withCarriers([{ id: '', matchers, author: '', comment: '', createdAt: 0, endsAt: 0 }])
  return silence === undefined ? undefined : (await countCovered(deps, [silence])).get('')
}
