import { type Argument, Option } from 'commander'
import type { CommandField, RemoteCommand } from '../operations/describe-commands.ts'
import { argument, type CommandSpec, option, parseCount, parseLength, parseRoles, parseRows } from './arguments.ts'
import { NAMES, QUESTIONS, usageOf } from './init-questions.ts'
import type { Io } from './io.ts'
import { readRemoteCommands } from './remote-commands.ts'

/** Commands of this machine alone: they run something, or need what no daemon has. */
const LOCAL_COMMANDS: Readonly<Record<string, CommandSpec>> = {
  init: {
    is: 'write a first config file; on a terminal it asks for what is not given',
    options: [
      ...NAMES.map((name) => option(usageOf(name), QUESTIONS[name].text)),
      option('--force', 'overwrite the file'),
    ],
    json: false,
    examples: [
      '--client-id my-app --client-secret file:secret.txt --public-url https://plimsoll.example.com --webhook https://hooks.example.com/plimsoll -c first.yaml',
    ],
    notes: '\nA source is file:PATH, or env:NAME for an environment variable.',
    run: async () => (await import('./init.ts')).init,
  },
  start: {
    is: 'run the daemon until SIGTERM; SIGHUP reads the config file again',
    options: [
      option(
        '--roles <list>',
        'which of clock, worker and web this daemon runs; other daemons must run the rest',
      ).argParser(parseRoles),
    ],
    json: false,
    examples: ['--config config/plimsoll.yaml', '--config config/plimsoll.yaml --roles worker'],
    run: async () => (await import('./start.ts')).start,
  },
  demo: {
    is: 'run everything against the sandbox, in one process, for you to watch',
    options: [option('--for <duration>', 'end after this long and print what happened').argParser(parseLength)],
    config: false,
    examples: ['--for 30s'],
    run: async () => (await import('./demo.ts')).demo,
  },
  sandbox: {
    is: 'run a stand-in for the provider, with a mail inbox and a webhook sink',
    options: [
      option('--port <port>', 'HTTP port, 0 = any').argParser(parseCount).default(8090),
      option('--smtp-port <port>', 'SMTP port, 0 = any').argParser(parseCount).default(2525),
      option('--accounts <count>', 'accounts to begin with').argParser(parseCount).default(25),
      option('--token-lifetime <duration>', 'life of an access token, such as 30m or 20s')
        .argParser(parseLength)
        .default(1_800_000, '30m'),
      option('--rotate-refresh-tokens', 'each refresh replaces the refresh token'),
      option('--scenario <scenario>', 'climbing: usage rises until thresholds are crossed')
        .choices(['steady', 'climbing'])
        .default('steady'),
      option('--client-id <id>', "the app's client id").default('sandbox-client-id'),
      option('--client-secret <secret>', "the app's client secret").default('sandbox-client-secret'),
    ],
    config: false,
    json: false,
    examples: ['--port 8090 --accounts 25 --token-lifetime 20s'],
    run: async () => (await import('./sandbox.ts')).sandbox,
  },
  doctor: {
    is: 'check everything that the daemon needs, changing nothing',
    examples: ['--config config/plimsoll.yaml'],
    run: async () => (await import('./doctor.ts')).doctor,
  },
  'config check': {
    is: 'report every problem of a config file',
    args: [argument('[file]', 'the file to check, - for standard input; default: --config')],
    examples: ['config/plimsoll.yaml'],
    run: async () => (await import('./config.ts')).checkFile,
  },
  'config schema': {
    is: 'print the JSON Schema of the config file, for editors',
    config: false,
    examples: ['> plimsoll.schema.json'],
    run: async () => (await import('./config.ts')).schema,
  },
  'config print': {
    is: 'print the config that is in force, defaults filled in, secrets masked',
    examples: ['--config config/plimsoll.yaml'],
    run: async () => (await import('./config.ts')).print,
  },
  completion: {
    is: 'print a script that completes commands, options, files and receivers in a shell',
    args: [argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish'])],
    config: false,
    json: false,
    examples: ['bash > plimsoll.bash', 'zsh > _plimsoll', 'fish > plimsoll.fish'],
    notes: `
To have it in every shell that you open, once:
  bash  add to ~/.bashrc: source <(plimsoll completion bash)
  zsh   add to ~/.zshrc, below compinit: source <(plimsoll completion zsh)
  fish  plimsoll completion fish > ~/.config/fish/completions/plimsoll.fish`,
    run: async () => (await import('./shell-scripts.ts')).printScript,
  },
}

/** First words of commands in the order of the help; of groups, their descriptions. */
export const FIRST_WORDS: Readonly<Record<string, string | undefined>> = {
  init: undefined,
  start: undefined,
  demo: undefined,
  sandbox: undefined,
  status: undefined,
  changes: undefined,
  upcoming: undefined,
  check: undefined,
  doctor: undefined,
  config: 'check, describe or print the config',
  accounts: 'list, show, connect, import, export, refresh, poll or uninstall accounts',
  alerts: 'alerts: list, explain, acknowledge or silence them; test receivers',
  thresholds: 'show what other thresholds would change',
  outbox: 'prove that no alert was lost; send again what was given up',
  'admin-tokens': 'make, list or remove tokens for pages and API',
  keys: 'change the keys that stored tokens are encrypted with',
  audit: 'show who did what',
  completion: undefined,
}

/** All commands by name, in the order of the help. */
export async function readCommands(): Promise<ReadonlyMap<string, CommandSpec>> {
  const remote = (await readRemoteCommands()).map((one) => [one.name, remoteCommand(one)] as const)
  const words = Object.keys(FIRST_WORDS)
  const place = ([name]: readonly [string, CommandSpec]) => words.indexOf(name.split(' ')[0] ?? '')
  return new Map([...Object.entries(LOCAL_COMMANDS), ...remote].sort((a, b) => place(a) - place(b)))
}

/** A command that the API answers. */
function remoteCommand(remote: RemoteCommand): CommandSpec {
  const { summary, examples, notes, args, options, flags, isWatched, maxRows, confirm, exitCodeOption, saves } = remote
  const { takesFile } = remote.request
  const flag = (name: string | false, is: string) => (name === false ? [] : [option(`--${name}`, is)])
  return {
    is: summary,
    examples,
    ...(notes === undefined ? {} : { notes }),
    args: [
      ...args.map(argumentOf),
      ...(takesFile ? [argument('<file>', 'the file; - is standard input')] : []),
      ...(saves === true ? [argument('<file>', 'ends in .csv or .jsonl; - is standard output')] : []),
    ],
    options: [
      ...options
        .filter(({ nameOf }) => nameOf === undefined)
        // The name of the file shows it, too.
        .map((field) => optionOf(field, saves !== true)),
      ...Object.entries(flags).map(([name, { description }]) => option(`--${name}`, description)),
      ...(maxRows === undefined ? [] : [option('--max <rows>', maxRows).argParser(parseRows).default(50)]),
      ...flag(isWatched === true && 'watch', 'show it again every few seconds, until Ctrl-C'),
      ...(exitCodeOption === undefined ? [] : [option('--exit-code', exitCodeOption).conflicts('watch')]),
      ...flag(confirm !== undefined && 'yes', 'go on without a question'),
      ...flag(saves === true && 'force', 'overwrite the file'),
      option('--url <url>', 'address of the daemon; else $PLIMSOLL_URL, or the one of this machine'),
      option('--token <token>', 'admin token for it; else $PLIMSOLL_TOKEN'),
    ],
    run: async () => {
      const { runRemote } = await import('./remote-command.ts')
      return (io: Io, ...given: never[]) => {
        const count = args.length + (takesFile || saves === true ? 1 : 0)
        const options = given[count] as unknown as Parameters<typeof runRemote>[3]
        const file = takesFile || saves === true ? { file: given[count - 1] } : {}
        return runRemote(io, remote, given, { ...options, ...file }, given[count + 1] as never)
      }
    },
  }
}

function argumentOf(field: CommandField): Argument {
  const { word, isRequired, isMany, description } = field
  const name = `${word}${isMany ? '...' : ''}`
  return withValue(argument(isRequired ? `<${name}>` : `[${name}]`, description), field)
}

function optionOf(field: CommandField, hasDefault = true): Option {
  const { called, kind, word, isRequired, description, default: byDefault } = field
  const made = withValue(option(kind === 'flag' ? `--${called}` : `--${called} <${word}>`, description), field)
  if (byDefault !== undefined && kind !== 'flag' && hasDefault) made.default(byDefault)
  return made.makeOptionMandatory(isRequired)
}

/** The API checks values; choices that are known here are checked before. */
function withValue<T extends Option | Argument>(made: T, { choices, isLine }: CommandField): T {
  if (choices !== undefined) made.choices(choices)
  if (isLine)
    made.argParser((text: string, before: string | undefined) => (before === undefined ? text : `${before} ${text}`))
  return made
}

export const DEFAULT_CONFIG = 'config/plimsoll.yaml'

export function programOptions(): Option[] {
  return [
    new Option(
      '-c, --config <file>',
      `config file, also after the command; else $PLIMSOLL_CONFIG or ${DEFAULT_CONFIG}`,
    ),
    new Option('--color', 'colors even if the output is no terminal'),
    new Option('--no-color', 'no colors; so does the environment variable NO_COLOR'),
  ]
}

/** Options of a command, with those of most commands. */
export function optionsOf({ options = [], config, json }: CommandSpec): Option[] {
  const timeout = option('--timeout <duration>', 'wait so long for a busy daemon or Redis (default: 10s)')
  return [
    ...(config === false ? [] : [new Option('-c, --config <file>', 'config file').default(DEFAULT_CONFIG)]),
    ...(json === false ? [] : [new Option('--json', 'print JSON')]),
    ...(config === false || json === false ? [] : [timeout.argParser(parseLength)]),
    ...options,
  ]
}
