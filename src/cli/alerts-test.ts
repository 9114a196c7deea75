import { unknownName } from '../../config/problems.ts'
import { type ReceiverTest, testReceiver } from '../app/test-receiver.ts'
import { formatSeconds } from '../text/format-number.ts'
import { receiverTestJson } from '../views/deliveries.ts'
import type { CommonOptions } from './arguments.ts'
import { checkInstalled, readConfig } from './installation.ts'
import { CommandError, ExitCode, type Io, printJson } from './io.ts'
import { showProgress } from './progress.ts'
import { say } from './say.ts'

/** `plimsoll alerts test`. */
export async function test(io: Io, name: string, options: CommonOptions): Promise<void> {
  const { config } = readConfig(io, options.config)
  checkInstalled(io, options.config, config, 'refuses')
  const settings = Object.hasOwn(config.receivers, name) ? config.receivers[name] : undefined
  if (settings === undefined)
    throw new CommandError(`${name}: ${unknownName(name, Object.keys(config.receivers), 'no receiver has this name')}`)
  const progress = showProgress(io, `sending to ${name}`)
  const tested = await testReceiver(config, name, settings, io.clock, io.stop).finally(progress.end)
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
