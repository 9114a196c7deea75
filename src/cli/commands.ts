import { Option } from 'commander'
import { SCOPES } from '../http/access/scopes.ts'
import { loadOperation, type OperationName } from '../operations/operations.ts'
import { ACCOUNT_COMMANDS } from './accounts.ts'
import { ALERT_COMMANDS } from './alerts.ts'
import {
  argument,
  type CommandSpec,
  mostRows,
  option,
  parseAccounts,
  parseCount,
  parseLength,
  parseRoles,
  parseScopes,
  parseTokenName,
  watchOption,
  yesOption,
} from './arguments.ts'
import { namesWith } from './command-names.ts'
import { operationCommand } from './operation-command.ts'

/** Commands that run something, or show or check an installation as a whole. */
const INSTALLATION_COMMANDS: Readonly<Record<string, CommandSpec>> = {
  init: {
    is: 'write a config file to begin with: asks on a terminal for what is not given',
    options: [
      option('--client-id <id>', "the app's client id at the provider"),
      option('--client-secret-file <file>', 'a file with its client secret, and nothing else'),
      option('--public-url <url>', 'where people and the provider reach this server'),
      option('--smtp <url>', 'mail server without a password: smtp://localhost:25'),
      option('--smtp-file <file>', 'a file with its address: smtps://user:password@mail.example.com:465'),
      option('--mail-to <address>', 'who gets the alerts by mail'),
      option('--webhook <url>', 'where alerts are posted to, as JSON'),
      option('--force', 'overwrite the file'),
    ],
    json: false,
    examples: [
      '--client-id my-app --client-secret-file secret.txt --public-url https://plimsoll.example.com --webhook https://hooks.example.com/plimsoll -c first.yaml',
    ],
    run: async () => (await import('./config.ts')).init,
  },
  start: {
    is: 'run the daemon until SIGTERM; SIGHUP reads the config file again',
    options: [
      option(
        '--roles <list>',
        'which of clock, worker and web this daemon runs; other daemons must run the rest',
      ).argParser(parseRoles),
      option('--repair', 'cut off what is damaged at the end of the file of the private Redis first, and keep a copy'),
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
  status: {
    is: 'show all accounts at a glance',
    options: [
      watchOption(),
      option(
        '--exit-code',
        'end with 0 where nothing needs action, 1 at a warning, 2 at critical, 3 unknown',
      ).conflicts('watch'),
    ],
    examples: ['--config config/plimsoll.yaml', '--exit-code'],
    run: async () => (await import('./status.ts')).status,
  },
  check: {
    is: 'judge the last readings against the thresholds, for cron, monitoring and CI',
    args: [argument('[accounts...]', 'hub ids or domains; default: all live accounts').argParser(parseAccounts)],
    options: [
      option('--live', 'poll the accounts now instead of judging what was read last'),
      option('--csv', 'print CSV, one series a row').conflicts('json'),
      option('--all', 'show also what is ok'),
      mostRows('most rows of the table'),
    ],
    examples: ['', '--live --json 1234567'],
    notes: `
Exit codes, as monitoring systems know them; the worst wins, in this order:
  2  critical: a critical alert is open, an account must reconnect, or its
     tokens have expired
  1  warning: likewise at warning
  3  unknown: an account without fresh reading (limits.freshness), no Redis,
     a bad config, wrong usage
  0  ok: all within their thresholds
A series whose limit the provider does not give is shown as unknown, but does
not make the exit code 3.`,
    run: async () => (await import('./check.ts')).checkAccounts,
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
}

/** Commands about keys and admin tokens, and about this program. */
const KEY_COMMANDS: Readonly<Record<string, CommandSpec>> = {
  'admin-tokens add': {
    is: 'make a token and print it, this once',
    args: [argument('<name>', 'who or what will use it').argParser(parseTokenName)],
    options: [
      option('--scopes <scopes>', `what it may do: ${SCOPES.join(', ')}; several with commas`)
        .argParser(parseScopes)
        .makeOptionMandatory(),
    ],
    examples: ['billing --scopes tokens', 'ann --scopes read,write'],
    run: async () => (await import('./keys.ts')).make,
  },
  'admin-tokens list': {
    is: 'list the tokens by name, with what they may do and when they were last used',
    run: async () => (await import('./keys.ts')).listAdminTokens,
  },
  'admin-tokens remove': {
    is: 'end a token, and all sessions that it began',
    args: [argument('<name>', 'the token')],
    options: [yesOption()],
    examples: ['billing'],
    run: async () => (await import('./keys.ts')).remove,
  },
  'keys rekey': {
    is: 'encrypt all stored tokens anew with the first key of encryption.keys, while the daemon runs',
    options: [yesOption()],
    examples: ['--config config/plimsoll.yaml'],
    run: async () => (await import('./keys.ts')).rekey,
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

/** Commands that are no operations: the API has nothing of them, or not so. */
const OWN_COMMANDS: Readonly<Record<string, CommandSpec>> = {
  ...INSTALLATION_COMMANDS,
  ...ACCOUNT_COMMANDS,
  ...ALERT_COMMANDS,
  ...KEY_COMMANDS,
}

/** Names of all commands, in the order of the help. */
export const COMMAND_NAMES = namesWith(Object.keys(OWN_COMMANDS))

/** Some commands by name. An operation is loaded with all that it needs: only those that are asked for. */
export async function loadCommands(names: readonly string[]): Promise<ReadonlyMap<string, CommandSpec>> {
  const load = async (name: string) => {
    const own = OWN_COMMANDS[name]
    if (own !== undefined) return [name, own] as const
    return [name, operationCommand(name, await loadOperation(name as OperationName))] as const
  }
  return new Map(await Promise.all(names.map(load)))
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
  return [
    ...(config === false ? [] : [new Option('-c, --config <file>', 'config file').default(DEFAULT_CONFIG)]),
    ...(json === false ? [] : [new Option('--json', 'print JSON')]),
    ...(config === false || json === false
      ? []
      : [option('--timeout <duration>', 'wait so long for a busy Redis (default: 10s)').argParser(parseLength)]),
    ...options,
  ]
}
