import { userInfo } from 'node:os'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { parseDuration } from '../../config/duration.ts'
import { newSilence, parseMatcher } from '../alerts/silences/new-silence.ts'
import { isInForce, type Matcher, type Silence } from '../alerts/silences/silence.ts'
import { silenceAlerts, unsilence } from '../app/alert-actions.ts'
import type { Parts } from '../app/parts.ts'
import { parseMoment } from '../http/query.ts'
import { countOf } from '../text/format-number.ts'
import { formatMoment, iso } from '../text/format-time.ts'
import { countCovered, matchersText, silenceJson } from '../views/silenced.ts'
import { CommandError, type Io, printJson } from './io.ts'
import { type CommonOptions, withConfig, withExample, withJson } from './options.ts'
import { say } from './say.ts'
import { momentCell, number, printTable, prose, whole } from './table.ts'
import { withParts } from './with-parts.ts'

interface SilenceOptions extends CommonOptions {
  match: string[]
  for?: number
  until?: number
  comment: string
  author: string
}

/** `plimsoll alerts silence`, `unsilence` and `silences`. */
export function addSilences(alerts: Command, io: Io): void {
  const add = (name: string) => withJson(withConfig(alerts.command(name)))

  withExample(
    add('silence')
      .requiredOption(
        '--match <name=value>',
        'what is silenced: account, level, kind, rule, tag, series, objectType, from or to; * stands for anything; ' +
          'several of one name: any of them; different names: all',
        (text: string, before: string[] | undefined) => [...(before ?? []), text],
      )
      .addOption(new Option('--for <duration>', 'how long, like 2h').argParser(parseLength).conflicts('until'))
      .addOption(new Option('--until <time>', 'until when, ISO 8601').argParser(parseEnd))
      .requiredOption('--comment <text>', 'why')
      .option('--author <name>', 'by whom', ownName()),
    'plimsoll alerts silence --match account=1234567 --match level=warning --for 2h --comment "a planned import"',
  )
    .description('tell nobody of some alerts for a while; what still fires at the end is told then')
    .action((options: SilenceOptions, command: Command) => silence(io, options, command))

  withExample(add('unsilence').argument('<id>', 'the silence'), 'plimsoll alerts unsilence s-4k7mp')
    .description('end a silence now; what still fires is told')
    .action((id: string, options: CommonOptions) => end(io, id, options))

  withExample(
    add('silences').option('--all', 'also those that ended in the last five days'),
    'plimsoll alerts silences',
  )
    .description('list the silences in force: what, by whom, why, until when, how many open alerts')
    .action((options: CommonOptions & { all?: boolean }) => list(io, options))
}

async function silence(io: Io, options: SilenceOptions, command: Command): Promise<void> {
  const { author, comment } = options
  const now = io.clock.now()
  const endsAt = options.until ?? (options.for === undefined ? undefined : now + options.for)
  if (endsAt === undefined) return command.error('error: say how long: --for 2h, or --until 2026-11-21T18:00:00Z')
  const { made, openAlerts } = await withParts(io, options.config, async (parts) => {
    const matchers = matchersOf(options.match, parts.silences.tagNames, command)
    const checked = newSilence({ matchers, author, comment, endsAt }, now)
    if (!checked.ok) return command.error(`error: ${OPTION_OF[checked.what]} ${checked.fault}`)
    const one = await silenceAlerts(parts, checked.silence)
    return { made: one, openAlerts: await countFor(parts, one) }
  })
  if (options.json === true) return printJson(io, 'alerts silence', silenceJson(made, openAlerts, now))
  const covers =
    openAlerts === 0
      ? 'no alert that is open now'
      : `${countOf(openAlerts, 'alert')} that ${isOrAre(openAlerts)} open now`
  say(
    io,
    `silence ${made.id}: ${matchersText(made)}, until ${formatMoment(endsAt)}`,
    `It covers ${covers}. To end it before: plimsoll alerts unsilence ${made.id}`,
  )
}

const OPTION_OF = { matchers: '--match', author: '--author', comment: '--comment', endsAt: 'the end' } as const

function isOrAre(count: number): string {
  return count === 1 ? 'is' : 'are'
}

function matchersOf(texts: readonly string[], tags: readonly string[], command: Command): Matcher[] {
  return texts.map((text) => {
    const parsed = parseMatcher(text, tags)
    return parsed.ok ? parsed.matcher : command.error(`error: --match: ${parsed.fault}`)
  })
}

async function countFor(parts: Parts, one: Silence): Promise<number> {
  return (await countCovered(parts, [one])).get(one.id) ?? 0
}

async function end(io: Io, id: string, options: CommonOptions): Promise<void> {
  const ended = await withParts(io, options.config, (parts) => unsilence(parts, id))
  if (ended.is === 'unknown') throw new CommandError(`there is no silence ${id}: plimsoll alerts silences shows all`)
  const endsAt = iso(ended.silence.endsAt)
  if (options.json === true) return printJson(io, 'alerts unsilence', { id, outcome: ended.is, endsAt })
  say(
    io,
    ended.is === 'ended'
      ? `silence ${id} is ended: what it covered and still fires is told now`
      : `silence ${id} was over already: it ended ${formatMoment(ended.silence.endsAt)}`,
  )
}

async function list(io: Io, options: CommonOptions & { all?: boolean }): Promise<void> {
  const now = io.clock.now()
  const { silences, counts } = await withParts(io, options.config, async (parts) => {
    const found = options.all === true ? await parts.silences.all() : await parts.silences.active(now)
    return { silences: found, counts: await countCovered(parts, found) }
  })
  const openAlerts = (one: Silence) => counts.get(one.id) ?? 0
  if (options.json === true) {
    return printJson(
      io,
      'alerts silences',
      silences.map((one) => silenceJson(one, openAlerts(one), now)),
    )
  }
  if (silences.length === 0) return say(io, 'no silence is in force')
  printTable(
    io,
    [whole('ID'), prose('WHAT'), 'BY', prose('WHY'), whole('UNTIL'), number('OPEN ALERTS')],
    silences.map((one) => [
      ...[one.id, matchersText(one), one.author, one.comment],
      `${momentCell(one.endsAt)}${isInForce(one, now) ? '' : ' (over)'}`,
      String(openAlerts(one)),
    ]),
  )
}

function parseLength(text: string): number {
  const length = parseDuration(text)
  if (length === undefined || length === 0) throw new InvalidArgumentError('A duration is like 30m, 2h or 1d.')
  return length
}

function parseEnd(text: string): number {
  const at = parseMoment(text)
  if (at === undefined) throw new InvalidArgumentError('A time is like 2026-11-21T18:00:00Z.')
  return at
}

/** Who runs the command; a user without a name, as in some containers, is asked for one by the rule that there must be one. */
export function ownName(): string {
  try {
    return userInfo().username
  } catch {
    return ''
  }
}
