import type { Command } from 'commander'
import { unknownName } from '../../config/problems.ts'
import { type AcknowledgeOutcome, type FoundAlert, findAlert } from '../alerts/acknowledge.ts'
import type { OpenState } from '../alerts/open-alerts.ts'
import { matchersText, newSilence, parseMatchers } from '../alerts/silence.ts'
import { acknowledge, silenceAlerts, unacknowledge, unsilence } from '../app/alert-actions.ts'
import { type ReceiverTest, showMessage, testBeside } from '../app/test-receiver.ts'
import type { SampleName } from '../delivery/templates/sample-messages.ts'
import type { Moment } from '../operations/field.ts'
import { NOBODY } from '../redis/steps.ts'
import { cleanText } from '../text/clean-text.ts'
import { countOf, formatSeconds } from '../text/format-number.ts'
import { formatMoment, iso } from '../text/format-time.ts'
import { receiverTestJson, shownMessageJson } from '../views/deliveries.ts'
import { timedAcknowledgement } from '../views/find-alerts.ts'
import { countCovered, silenceJson, unknownAccounts } from '../views/silenced.ts'
import type { CommonOptions } from './arguments.ts'
import { checkInstalled, readConfig } from './installation.ts'
import { CommandError, ExitCode, type Io, printJson } from './io.ts'
import { showProgress } from './progress.ts'
import { say } from './say.ts'
import { ownName, whoRuns } from './who-runs.ts'
import { commandLog, withParts } from './with-parts.ts'

interface AckOptions extends CommonOptions {
  comment?: string
  author?: string
}

/** `plimsoll alerts ack`. */
export async function ack(io: Io, id: string, options: AckOptions, command: Command): Promise<void> {
  const author = oneLine(options.author ?? ownName(), LONGEST_AUTHOR, '--author', command)
  const comment = oneLine(options.comment ?? '', LONGEST_COMMENT, '--comment', command)
  if (author === '') return command.error('error: --author must not be empty')
  const { alert, outcome } = await withParts(io, options, async (parts) => {
    const found = theOne(id, await findAlert(parts, id), command)
    const seen = { id: found.id, hubId: found.hubId, level: found.state.level }
    const by = { by: author, comment: comment === '' ? undefined : comment }
    return { alert: found, outcome: await acknowledge(parts, seen, by, whoRuns(io)) }
  })
  const { is, acknowledged } = whatHolds(alert, outcome)
  const json = { ...named(alert), outcome: is, acknowledged: timedAcknowledgement(acknowledged) }
  if (options.json === true) return printJson(io, 'alerts ack', json)
  const until = formatMoment(acknowledged.until)
  say(
    io,
    is === 'acknowledged'
      ? `acknowledged alert ${alert.id} of ${whose(alert)}: it is not sent again until ${until}, unless it gets worse`
      : `alert ${alert.id} of ${whose(alert)} was acknowledged already, by ${cleanText(acknowledged.by)} until ${until}`,
  )
}

/** `plimsoll alerts unack`. */
export async function unack(io: Io, given: string, options: CommonOptions, command: Command): Promise<void> {
  const { alert, is } = await withParts(io, options, async (parts) => {
    const found = theOne(given, await findAlert(parts, given), command)
    return { alert: found, ...(await unacknowledge(parts, found, whoRuns(io))) }
  })
  const { id } = alert
  if (is === 'not-open') throw new CommandError(`alert ${id} has just been closed`)
  if (options.json === true) return printJson(io, 'alerts unack', { ...named(alert), outcome: is })
  const outcome = is === 'withdrawn' ? 'is no longer acknowledged: it repeats again' : 'was not acknowledged'
  say(io, `alert ${id} of ${whose(alert)} ${outcome}`)
}

/** As silences have them. */
const LONGEST_COMMENT = 500
const LONGEST_AUTHOR = 100

/** It goes into mails, pages and logs. */
function oneLine(text: string, longest: number, option: string, command: Command): string {
  if (text.trim().length > longest) return command.error(`error: ${option} is longer than ${longest} characters`)
  return cleanText(text, longest)
}

function theOne(given: string, found: FoundAlert, command: Command): OpenState {
  switch (found.is) {
    case 'found':
      return found.alert
    case 'no-id':
      return command.error(
        `error: "${given}" is not the id of an alert, nor its first six characters or more: plimsoll alerts list shows them`,
      )
    case 'several':
      throw new CommandError(`several open alerts begin with ${given}: ${found.ids.join(', ')}`)
    case 'unknown':
      throw new CommandError(`no alert ${given} is open: plimsoll alerts list shows those that are`)
  }
}

function whatHolds({ id }: OpenState, outcome: AcknowledgeOutcome) {
  switch (outcome.is) {
    case 'acknowledged':
    case 'already':
      return outcome
    case 'not-open':
      throw new CommandError(`alert ${id} has just been closed`)
    case 'gone-worse':
      throw new CommandError(`alert ${id} has just got worse: plimsoll alerts list shows how, then acknowledge it`)
  }
}

function named({ id, hubId }: OpenState) {
  return { id, hubId: hubId === NOBODY ? null : hubId }
}

function whose({ hubId, hubDomain }: OpenState): string {
  if (hubId === NOBODY) return 'all accounts'
  return hubDomain === '' ? `account ${hubId}` : `${cleanText(hubDomain)} (${hubId})`
}

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
  const { author = ownName(), comment } = options
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
