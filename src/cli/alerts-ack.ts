import type { Command } from 'commander'
import { type AcknowledgeOutcome, type FoundAlert, findAlert } from '../alerts/acknowledge.ts'
import type { OpenState } from '../alerts/open-alerts.ts'
import { acknowledge, unacknowledge } from '../app/alert-actions.ts'
import { NOBODY } from '../redis/steps.ts'
import { cleanText } from '../text/clean-text.ts'
import { formatMoment } from '../text/format-time.ts'
import { timedAcknowledgement } from '../views/find-alerts.ts'
import { ownName } from './alerts-silence.ts'
import type { CommonOptions } from './arguments.ts'
import { CommandError, type Io, printJson } from './io.ts'
import { say } from './say.ts'
import { withParts } from './with-parts.ts'

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
    return { alert: found, outcome: await acknowledge(parts, seen, by) }
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
    return { alert: found, ...(await unacknowledge(parts, found)) }
  })
  const { id } = alert
  if (is === 'not-open') throw new CommandError(`alert ${id} has just been closed`)
  if (options.json === true) return printJson(io, 'alerts unack', { ...named(alert), outcome: is })
  const outcome = is === 'withdrawn' ? 'is not acknowledged any more: it repeats again' : 'was not acknowledged'
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
        `error: "${given}" is no id of an alert, nor its first six characters or more: plimsoll alerts list shows them`,
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
