import type { Command } from 'commander'
import { unknownName } from '../../config/problems.ts'
import { matchersText, newSilence, parseMatchers } from '../alerts/silence.ts'
import { silenceAlerts, unsilence } from '../app/alert-actions.ts'
import { type ReceiverTest, showMessage, testBeside } from '../app/test-receiver.ts'
import type { SampleName } from '../delivery/templates/sample-messages.ts'
import type { Moment } from '../operations/field.ts'
import { cleanText } from '../text/clean-text.ts'
import { countOf, formatSeconds } from '../text/format-number.ts'
import { formatMoment, iso } from '../text/format-time.ts'
import { receiverTestJson, shownMessageJson } from '../views/deliveries.ts'
import { countCovered, silenceJson, unknownAccounts } from '../views/silenced.ts'
import type { CommonOptions } from './arguments.ts'
import { checkInstalled, readConfig } from './installation.ts'
import { CommandError, ExitCode, type Io, printJson } from './io.ts'
import { showProgress } from './progress.ts'
import { say } from './say.ts'
import { whoRuns } from './who-runs.ts'
import { commandLog, withParts } from './with-parts.ts'

interface SilenceOptions extends CommonOptions {
  match: string[]
  start?: Moment
  for?: number
  until?: Moment
  comment: string
  author?: string
}

/** `plimsoll alerts silence`. */
export async function silence(io: Io, options: SilenceOptions, command: Command): Promise<void> {
  const { author = whoRuns(io).name, comment } = options
  const now = io.clock.now()
  const { start, until, for: length = 0 } = options
  const startsAt = Math.max(now, start?.(now) ?? now)
  if (until === undefined && length === 0) return command.error('error: missing: --for 2h, or --until 2026-11-21T18:00')
  const { made, openAlerts, unknown } = await withParts(io, options, async (parts) => {
    const parsed = parseMatchers(options.match.join(' '), parts.silences.tagNames)
    if (!parsed.ok) return command.error(`error: --match: ${parsed.fault}`)
    const { matchers } = parsed
    const checked = newSilence({ matchers, author, comment, startsAt, endsAt: until?.(now) ?? startsAt + length }, now)
    if (!checked.ok) return command.error(`error: ${OPTION_OF[checked.what]} ${checked.fault}`)
    const one = await silenceAlerts(parts, checked.silence, whoRuns(io))
    const openAlerts = (await countCovered(parts, [one])).get(one.id) ?? 0
    return { made: one, openAlerts, unknown: await unknownAccounts(parts, matchers) }
  })
  for (const name of unknown) io.err(`plimsoll: no account is called ${cleanText(name)} now; the silence is kept\n`)
  if (options.json === true) return printJson(io, 'alerts silence', silenceJson(made, openAlerts, now))
  const alerts = openAlerts === 0 ? 'no open alerts' : countOf(openAlerts, 'open alert')
  const from = made.startsAt === undefined ? '' : `from ${formatMoment(made.startsAt)} `
  say(
    io,
    `silence ${made.id}: ${matchersText(made.matchers)}, ${from}until ${formatMoment(made.endsAt)}`,
    `It covers ${alerts}. To end it before: plimsoll alerts unsilence ${made.id}`,
  )
}

const OPTION_OF = {
  matchers: '--match',
  author: '--author',
  comment: '--comment',
  startsAt: '--start',
  endsAt: 'the end',
} as const

/** `plimsoll alerts unsilence`. */
export async function endSilenceEarly(io: Io, id: string, options: CommonOptions): Promise<void> {
  const ended = await withParts(io, options, (parts) => unsilence(parts, id, whoRuns(io)))
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

interface TestOptions extends CommonOptions {
  show?: boolean
  kind?: SampleName
}

/** `plimsoll alerts test`. */
export async function test(io: Io, name: string, options: TestOptions, command: Command): Promise<void> {
  const { show = false, kind } = options
  if (kind !== undefined && !show) return command.error('error: --kind is for --show: a test has a text of its own')
  const { config } = readConfig(io, options.config)
  if (!show) checkInstalled(io, options.config, config, 'refuses')
  const settings = Object.hasOwn(config.receivers, name) ? config.receivers[name] : undefined
  if (settings === undefined)
    throw new CommandError(`${name}: ${unknownName(name, Object.keys(config.receivers), 'no receiver has this name')}`)
  if (show) {
    const shown = await showMessage({ config, name, settings }, kind ?? 'limit', io.clock.now())
    if (options.json === true) return printJson(io, 'alerts test', shownMessageJson(name, shown))
    if (shown.fault !== undefined) throw new CommandError(`${name}: ${shown.fault}`)
    return io.out(`${shown.text.trimEnd()}\n`)
  }
  const progress = showProgress(io, `sending to ${name}`)
  const parts = { clock: io.clock, stop: io.stop, log: commandLog(io) }
  const tested = await testBeside({ config, name, settings }, parts, whoRuns(io)).finally(progress.end)
  if (options.json === true) printJson(io, 'alerts test', receiverTestJson(name, tested))
  else if (tested.outcome.outcome === 'delivered') printDelivered(io, name, tested)
  if (tested.outcome.outcome === 'delivered') return
  if (options.json === true) throw new ExitCode(1)
  throw new CommandError(`${name}: ${tested.outcome.reason}; ${tested.fix}${notedText(tested)}`)
}

function printDelivered(io: Io, name: string, tested: ReceiverTest): void {
  const { outcome, ms } = tested
  const answered = outcome.answer === undefined ? '' : `, answered ${outcome.answer}`
  const detail = outcome.outcome === 'delivered' && outcome.detail !== undefined ? ` (${outcome.detail})` : ''
  say(io, `${name}: delivered in ${formatSeconds(ms)}${answered}${detail}${notedText(tested)}`)
}

function notedText({ noted }: ReceiverTest): string {
  if (noted === 'enabled') return '; it was switched off, and gets messages again'
  return noted === 'away' ? '; not noted in the log of deliveries: Redis does not answer' : ''
}
