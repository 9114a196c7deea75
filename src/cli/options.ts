import { type Command, InvalidArgumentError } from 'commander'

export interface CommonOptions {
  config: string
  json?: boolean
}

/** What every command that reads the config takes. */
export function withConfig(command: Command): Command {
  return command.option('-c, --config <file>', 'config file', 'config/plimsoll.yaml')
}

export function withJson(command: Command): Command {
  return command.option('--json', 'print JSON')
}

export function withExample(command: Command, ...lines: string[]): Command {
  return command.addHelpText('after', `\nExample:\n${lines.map((line) => `  $ ${line}`).join('\n')}`)
}

/** The most rows of a table. */
export function parseMost(text: string): number {
  if (!/^\d{1,7}$/.test(text)) throw new InvalidArgumentError('Most rows is a whole number, such as 50.')
  return Number(text)
}
