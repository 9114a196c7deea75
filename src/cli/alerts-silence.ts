import { userInfo } from 'node:os'
import type { Command } from 'commander'
import { findAccount } from '../accounts/search/directory.ts'
import type { Matcher, Silence } from '../alerts/silence.ts'
import { newSilence, parseMatcher } from '../alerts/silence.ts'
import { silenceAlerts, unsilence } from '../app/alert-actions.ts'
import type { Services } from '../app/services.ts'
import { cleanText } from '../text/clean-text.ts'
import { countOf } from '../text/format-number.ts'
import { formatMoment, iso } from '../text/format-time.ts'
import { countCovered, matchersText, silenceJson } from '../views/silenced.ts'
import type { CommonOptions, Moment } from './arguments.ts'
import { CommandError, type Io, printJson } from './io.ts'
import { say } from './say.ts'
import { leftCell, number, printTable, prose, whole } from './table.ts'
import { withParts } from './with-parts.ts'

interface SilenceOptions extends CommonOptions {
  match: string[]
  for?: number
  until?: Moment
  comment: string
  author?: string
}

/** `plimsoll alerts silence`. */
export async function silence(io: Io, options: SilenceOptions, command: Command): Promise<void> {
  const { author = ownName(), comment } = options
  const now = io.clock.now()
  const { until, for: length = 0 } = options
  if (until === undefined && length === 0)
    return command.error('error: it also takes how long: --for 2h, or --until 2026-11-21T18:00')
  const { made, openAlerts, unknown } = await withParts(io, options, async (parts) => {
    const matchers = matchersOf(options.match, parts.silences.tagNames, command)
    const checked = newSilence({ matchers, author, comment, endsAt: until?.() ?? now + length }, now)
    if (!checked.ok) return command.error(`error: ${OPTION_OF[checked.what]} ${checked.fault}`)
    const one = await silenceAlerts(parts, checked.silence)
    const openAlerts = (await countCovered(parts, [one])).get(one.id) ?? 0
    return { made: one, openAlerts, unknown: await unknownAccounts(parts, matchers) }
  })
  for (const name of unknown) io.err(`plimsoll: no account is called ${cleanText(name)} now; the silence is kept\n`)
  if (options.json === true) return printJson(io, 'alerts silence', silenceJson(made, openAlerts, now))
  const alerts = openAlerts === 0 ? 'no alert' : countOf(openAlerts, 'alert')
  say(
    io,
    `silence ${made.id}: ${matchersText(made)}, until ${formatMoment(made.endsAt)}`,
    `It covers ${alerts} that ${openAlerts > 1 ? 'are' : 'is'} open now. To end it before: plimsoll alerts unsilence ${made.id}`,
  )
}

/** Those that name one account, and no account has the name. */
async function unknownAccounts(parts: Services, matchers: readonly Matcher[]): Promise<string[]> {
  const names = matchers
    .filter(({ name, value }) => name === 'account' && !value.includes('*'))
    .map(({ value }) => value)
  const known = await Promise.all(
    names.map(async (name) =>
      /^\d+$/.test(name)
        ? (await parts.store.exists(parts.keys.account(Number(name)).account)) === 1
        : (await findAccount(parts, name.toLowerCase())).is !== 'unknown',
    ),
  )
  return names.filter((_, n) => known[n] === false)
}

const OPTION_OF = { matchers: '--match', author: '--author', comment: '--comment', endsAt: 'the end' } as const

function matchersOf(texts: readonly string[], tags: readonly string[], command: Command): Matcher[] {
  return texts.map((text) => {
    const parsed = parseMatcher(text, tags)
    return parsed.ok ? parsed.matcher : command.error(`error: --match: ${parsed.fault}`)
  })
}

/** `plimsoll alerts unsilence`. */
export async function endSilenceEarly(io: Io, id: string, options: CommonOptions): Promise<void> {
  const ended = await withParts(io, options, (parts) => unsilence(parts, id))
  if (ended.is === 'unknown') throw new CommandError(`there is no silence ${id}: plimsoll alerts silences shows all`)
  const endsAt = iso(ended.silence.endsAt)
  if (options.json === true) return printJson(io, 'alerts unsilence', { id, outcome: ended.is, endsAt })
  say(
    io,
    ended.is === 'ended'
      ? `silence ${id} is ended: what it covered and still fires is sent now`
      : `silence ${id} was over already: it ended ${formatMoment(ended.silence.endsAt)}`,
  )
}

/** `plimsoll alerts silences`. */
export async function showSilences(io: Io, options: CommonOptions & { all?: boolean }): Promise<void> {
  const now = io.clock.now()
  const { silences, counts } = await withParts(io, options, async (parts) => {
    const found = options.all === true ? await parts.silences.all() : await parts.silences.active(now)
    return { silences: found, counts: await countCovered(parts, found) }
  })
  const openAlerts = (one: Silence) => counts.get(one.id) ?? 0
  const json = () => silences.map((one) => silenceJson(one, openAlerts(one), now))
  if (options.json === true) return printJson(io, 'alerts silences', json())
  if (silences.length === 0) return say(io, 'no silence is in force')
  printTable(
    io,
    [whole('ID'), prose('WHAT'), 'BY', prose('WHY'), whole('LEFT'), number('OPEN ALERTS')],
    silences.map((one) => [
      ...[one.id, matchersText(one), one.author, one.comment],
      ...[leftCell(one.endsAt, now), String(openAlerts(one))],
    ]),
  )
}

/** Who runs the command; a user without a name, as in some containers, is asked for one by the rule that there must be one. */
export function ownName(): string {
  try {
    return userInfo().username
  } catch {
    return ''
  }
}
