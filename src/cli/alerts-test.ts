import type { Command } from 'commander'
import { unknownName } from '../../config/schema/problems.ts'
import { type ReceiverTest, showMessage, testBeside } from '../app/test-receiver.ts'
import type { SampleName } from '../delivery/templates/sample-messages.ts'
import { formatSeconds } from '../text/format-number.ts'
import { receiverTestJson, shownMessageJson } from '../views/deliveries.ts'
import type { CommonOptions } from './arguments.ts'
import { checkInstalled, readConfig } from './installation.ts'
import { CommandError, ExitCode, type Io, printJson, proxiesOf } from './io.ts'
import { showProgress } from './progress.ts'
import { say } from './say.ts'
import { whoRuns } from './who-runs.ts'
import { commandLog } from './with-parts.ts'

interface TestOptions extends CommonOptions {
  show?: boolean
  kind?: SampleName
}

/** `plimsoll alerts test`. */
export async function test(io: Io, name: string, options: TestOptions, command: Command): Promise<void> {
  const { show = false, kind } = options
  if (kind !== undefined && !show) return command.error('error: --kind is for --show: a test has a text of its own')
  const { config } = readConfig(io, options.config)
  if (!show) checkInstalled(config, 'refuses')
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
  const tested = await testBeside({ config, name, settings, proxyFor: proxiesOf(io) }, parts, whoRuns(io)).finally(
    progress.end,
  )
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
