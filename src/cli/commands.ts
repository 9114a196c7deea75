import { Argument, Option } from 'commander'
import { ACCOUNT_SORTS } from '../accounts/search/account-query.ts'
import { SCOPES } from '../http/access/admin-tokens.ts'
import { ACCOUNT_STATES } from '../redis/keys.ts'
import {
  parseAccount,
  parseAccounts,
  parseCount,
  parseEach,
  parseEnd,
  parseHours,
  parseLength,
  parseRoles,
  parseScopes,
  parseTime,
  parseTokenName,
} from './arguments.ts'
import type { Io } from './io.ts'

/** One command: how it is written, what its help shows, and what runs. */
export interface CommandSpec {
  is: string
  args?: readonly Argument[]
  options?: readonly Option[]
  /** Whether it takes `--config`, and `--json`: it does, unless false. */
  config?: false
  json?: false
  /** What is behind the command's name; default: nothing. */
  examples?: readonly string[]
  notes?: string
  /** Loaded only when it runs: what all of them need together takes a second of CPU. */
  run: () => Promise<Run>
}

/** Its arguments, its options, commander's command, as they are declared here. */
export type Run = (io: Io, ...given: never[]) => Promise<void> | void

/** Of the groups, for the help; a command that is no group's is its own. */
export const GROUPS: Readonly<Record<string, string>> = {
  config: 'check, describe or print the config',
  accounts: 'list, show, connect, import, export, refresh, poll or uninstall accounts',
  alerts: 'alerts: list, explain, acknowledge or silence them; test receivers',
  thresholds: 'show what other thresholds would change',
  outbox: 'prove that no alert was lost; send again what was given up',
  'admin-tokens': 'make, list or remove tokens for pages and API',
  keys: 'change the keys that stored tokens are encrypted with',
}

const MARKS = ['active', 'acknowledged', 'silenced']
const LEVELS = ['warning', 'critical'] as const

const option = (flags: string, is: string) => new Option(flags, is)
const argument = (name: string, is: string) => new Argument(name, is)
const account = () => argument('<account>', 'its hub id or its domain').argParser(parseAccount)
const alert = () => argument('<alert>', 'its id, or the first six characters of it, or more')
const watch = () => option('--watch', 'show it again every few seconds, until Ctrl-C')
const most = (rows: string) => option('--max <rows>', rows).argParser(parseCount).default(50)

/** In the order of the help. */
export function commandSpecs(io: Pick<Io, 'clock'>): Readonly<Record<string, CommandSpec>> {
  const time = (text: string) => parseTime(text, io.clock.now())
  return {
    init: {
      is: 'write a config file to begin with: asks on a terminal for what is not given',
      options: [
        option('--client-id <id>', "the app's client id at the provider"),
        option('--client-secret-file <file>', 'a file with its client secret, and nothing else'),
        option('--public-url <url>', 'where people and the provider reach this server'),
        option('--smtp <url>', 'mail server: smtps://user:password@mail.example.com:465'),
        option('--mail-to <address>', 'who gets the alerts by mail'),
        option('--webhook <url>', 'where alerts are posted to, as JSON'),
        option('--force', 'overwrite the file'),
      ],
      json: false,
      examples: [
        '--client-id my-app --client-secret-file secret.txt --public-url https://plimsoll.example.com --webhook https://hooks.example.com/plimsoll -c first.yaml',
      ],
      run: async () => (await import('./init.ts')).init,
    },
    start: {
      is: 'run the daemon until SIGTERM; SIGHUP reads the config file again',
      options: [
        option('--roles <list>', 'what this daemon does of clock, worker and web; others must do the rest').argParser(
          parseRoles,
        ),
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
        option('--rotate-refresh-tokens', 'every refresh ends the refresh token it was made with'),
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
      options: [watch()],
      examples: ['--config config/plimsoll.yaml'],
      run: async () => (await import('./status.ts')).status,
    },
    check: {
      is: 'judge the last readings against the thresholds, for cron, monitoring and CI',
      args: [argument('[accounts...]', 'hub ids or domains; default: all live accounts').argParser(parseAccounts)],
      options: [
        option('--live', 'poll the accounts now instead of judging what was read last'),
        option('--csv', 'print CSV, one series a row').conflicts('json'),
        option('--all', 'show also what is ok'),
        most('most rows of the table'),
      ],
      examples: ['', '--live --json 1234567'],
      notes: `
Exit codes, as monitoring systems know them; the worst wins, in this order:
  2  critical: a series is at critical, or an alert about it is open
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
      options: [option('--markdown', 'every setting as a page to read instead')],
      config: false,
      examples: ['> plimsoll.schema.json'],
      run: async () => (await import('./config.ts')).schema,
    },
    'config print': {
      is: 'print the config that is in force, defaults filled in, secrets masked',
      examples: ['--config config/plimsoll.yaml'],
      run: async () => (await import('./config.ts')).print,
    },
    'accounts list': {
      is: 'list accounts, those with the worst alerts first',
      options: [
        option('--state <state>', 'only accounts in this state').choices(ACCOUNT_STATES),
        option('--level <level>', 'only those with an open alert at this level').choices(LEVELS),
        option('--kind <kind>', 'only those with an open alert of this kind').choices(['limit', 'token', 'poll']),
        option('--tag <tag>', 'only those with this tag of the config'),
        option('--search <text>', 'only those whose hub id begins so, or whose domain has it'),
        option('--sort <order>', 'worst: by their worst alert; else by what comes first')
          .choices(ACCOUNT_SORTS)
          .default('worst'),
        option('--stale', 'only accounts without a fresh reading (limits.freshness)'),
      ],
      examples: ['--state failing', '--level critical --sort nearest'],
      run: async () => (await import('./accounts-list.ts')).listAccounts,
    },
    'accounts show': {
      is: 'show what is known of one account',
      args: [account()],
      examples: ['acme.example.com'],
      run: async () => (await import('./accounts-show.ts')).show,
    },
    'accounts connect': {
      is: 'take over an account in which the app was installed before',
      options: [
        option('--refresh-token-file <file>', 'file with the refresh token, and nothing else').makeOptionMandatory(),
      ],
      examples: ['--refresh-token-file ./token.txt'],
      run: async () => (await import('./accounts-change.ts')).connect,
    },
    'accounts import': {
      is: 'bring many accounts in with their refresh tokens; run again, it goes on where it ended',
      args: [
        argument(
          '<file>',
          'CSV with a header (hubId,refreshToken,hubDomain), or one JSON object a line; - is standard input',
        ),
      ],
      options: [
        option('--replace', 'overwrite accounts that are known already, and bring back those that were uninstalled'),
      ],
      examples: ['fleet.csv'],
      run: async () => (await import('./accounts-import.ts')).importFile,
    },
    'accounts export': {
      is: 'write the live accounts to a file, refresh tokens sealed, for an installation with the same key',
      args: [argument('<file>', 'ends in .csv or .jsonl; - is standard output')],
      options: [option('--format <format>', 'where the name of the file does not show it').choices(['csv', 'jsonl'])],
      examples: ['fleet.csv', '- --format jsonl > fleet.jsonl'],
      run: async () => (await import('./accounts-export.ts')).exportFile,
    },
    'accounts poll': {
      is: 'read the limits of accounts now, as the daemon does when they are due',
      args: [argument('<accounts...>', 'hub ids or domains').argParser(parseAccounts)],
      examples: ['1234567'],
      run: async () => (await import('./accounts-change.ts')).poll,
    },
    'accounts refresh': {
      is: "refresh the account's tokens now, as the daemon does when they are due",
      args: [account()],
      examples: ['1234567'],
      run: async () => (await import('./accounts-change.ts')).refresh,
    },
    'accounts reconnect-link': {
      is: 'print a link for the customer that connects this account again and no other',
      args: [account()],
      examples: ['acme.example.com'],
      run: async () => (await import('./accounts-change.ts')).printReconnectLink,
    },
    'accounts history': {
      is: "show how accounts' limits moved",
      args: [argument('[accounts...]', 'hub ids or domains; none: all').argParser(parseAccounts)],
      options: [
        option(
          '--from <time>',
          '2026-11-21T18:00 (in http.timeZone), ISO 8601, or how long ago: 2d; default: a week',
        ).argParser(time),
        option('--to <time>', 'the same; default: now').argParser(time),
        option('--resolution <resolution>', 'each change, or the last reading of each hour or day (UTC)')
          .choices(['raw', 'hourly', 'daily'])
          .default('raw'),
        option('--csv', 'print CSV, one line per series and moment').conflicts(['json', 'jsonl']),
        option('--jsonl', 'print one JSON object per series and moment').conflicts(['json', 'csv']),
      ],
      examples: ['1234567 --from 2d', '--resolution daily --from 90d --csv > history.csv'],
      run: async () => (await import('./accounts-history.ts')).history,
    },
    'accounts uninstall': {
      is: "delete the account's refresh token at the provider; later the account is forgotten",
      args: [account()],
      options: [
        option('--reason <text>', 'why').default('uninstalled by an operator'),
        option('--wait', 'wait up to a minute until the refresh token is deleted'),
      ],
      examples: ['1234567'],
      run: async () => (await import('./accounts-change.ts')).leaveAccount,
    },
    'alerts list': {
      is: 'list the alerts that are open, worst first',
      options: [
        option('--state <state>', 'active: neither acknowledged nor silenced').choices(MARKS),
        option('--level <level>', 'only alerts at this level').choices(LEVELS),
        option('--kind <kind>', 'only alerts of this kind').choices(['limit', 'token', 'poll', 'fleet', 'delivery']),
        option('--tag <tag>', 'only those of accounts with this tag of the config'),
        option('--search <text>', 'only those of accounts whose hub id or domain has it'),
        option('--sort <order>', 'worst first, newest first, or by hub id')
          .choices(['worst', 'newest', 'account'])
          .default('worst'),
        watch(),
      ],
      examples: ['', '--state active --kind token'],
      run: async () => (await import('./alerts-list.ts')).listAlerts,
    },
    'alerts log': {
      is: 'list what alerts did, and the outcome of each: pending, delivered, dead, withheld',
      options: [
        option(
          '--since <time>',
          '2026-11-21T18:00 (in http.timeZone), ISO 8601, or how long ago; default: 24h',
        ).argParser(time),
        option('--account <account>', 'of one account: its hub id or its domain').argParser(parseAccount),
        option('--level <level>', 'of one level').choices(LEVELS),
      ],
      examples: ['--since 2h --account 1234567'],
      run: async () => (await import('./alerts-log.ts')).log,
    },
    'alerts ack': {
      is: 'acknowledge an open alert: it is not sent again until it gets worse',
      args: [alert()],
      options: [
        option('--comment <text>', 'what is being done'),
        option('--author <name>', 'by whom; default: who runs this'),
      ],
      examples: ['1f0c9a7be2d45a63 --comment "asked the customer"'],
      run: async () => (await import('./alerts-ack.ts')).ack,
    },
    'alerts unack': {
      is: 'take an acknowledgement back: the alert repeats again',
      args: [alert()],
      examples: ['1f0c9a7be2d45a63'],
      run: async () => (await import('./alerts-ack.ts')).unack,
    },
    'alerts silence': {
      is: 'send nothing about some alerts for a while; what still fires at the end is sent then',
      options: [
        option(
          '--match <name=value>',
          'what is silenced: account, level, kind, rule, tag, series, objectType, from or to; * is anything; ' +
            'several of one name: any of them; different names: all',
        )
          .argParser(parseEach)
          .makeOptionMandatory(),
        option('--for <duration>', 'how long, like 2h').argParser(parseLength).conflicts('until'),
        option('--until <time>', 'until when, like 2026-11-21T18:00 (in http.timeZone), or ISO 8601').argParser(
          parseEnd,
        ),
        option('--comment <text>', 'why').makeOptionMandatory(),
        option('--author <name>', 'by whom; default: who runs this'),
      ],
      examples: ['--match account=1234567 --match level=warning --for 2h --comment "a planned import"'],
      run: async () => (await import('./alerts-silence.ts')).silence,
    },
    'alerts unsilence': {
      is: 'end a silence now; what still fires is sent',
      args: [argument('<id>', 'the silence')],
      examples: ['s-4k7mp'],
      run: async () => (await import('./alerts-silence.ts')).endSilenceEarly,
    },
    'alerts silences': {
      is: 'list the silences in force: what, by whom, why, until when, how many open alerts',
      options: [option('--all', 'also those that ended in the last five days')],
      run: async () => (await import('./alerts-silence.ts')).showSilences,
    },
    'alerts explain': {
      is: "show why an account's alerts were sent, or why not",
      args: [account()],
      options: [
        option('--series <series>', 'only this series: its id, such as type/0-1, or all of a metric'),
        option('--all', 'show also what is ok in full'),
      ],
      examples: ['1234567', '1234567 --series customProperties.overall'],
      run: async () => (await import('./alerts-explain.ts')).explainAlerts,
    },
    'alerts test': {
      is: 'send a test message through a receiver now; enables one that is switched off',
      args: [argument('<receiver>', 'its name in the config')],
      examples: ['ops-mail'],
      run: async () => (await import('./alerts-test.ts')).test,
    },
    'thresholds plan': {
      is: 'compare a config with the one in force: which levels change now, what would have been sent',
      args: [argument('<file>', 'the config that may come')],
      options: [
        option('--over <duration>', 'how much of the stored history is replayed')
          .argParser(parseHours)
          .default(30 * 86_400_000, '30d'),
        most('most rows of the table of changes'),
      ],
      examples: ['new.yaml', 'new.yaml --over 90d --json'],
      run: async () => (await import('./thresholds.ts')).planFile,
    },
    'outbox verify': {
      is: 'whether every transition that was committed is delivered, on its way, given up or withheld',
      run: async () => (await import('./outbox.ts')).verify,
    },
    'outbox replay': {
      is: 'send again what was given up since a moment, each under its own id, for another three days',
      options: [
        option('--since <time>', '2026-11-21T18:00 (in http.timeZone), ISO 8601, or how long ago: 2h')
          .argParser(time)
          .makeOptionMandatory(),
        option('--receiver <receiver>', 'only what one receiver was to get'),
      ],
      examples: ['--since 2h --receiver ops-hook'],
      run: async () => (await import('./outbox.ts')).replay,
    },
    'admin-tokens add': {
      is: 'make a token and print it, this once',
      args: [argument('<name>', 'who or what will use it').argParser(parseTokenName)],
      options: [
        option('--scopes <scopes>', `what it may do: ${SCOPES.join(', ')}; several with commas`)
          .argParser(parseScopes)
          .makeOptionMandatory(),
      ],
      examples: ['billing --scopes tokens', 'ann --scopes read,write'],
      run: async () => (await import('./admin-tokens.ts')).make,
    },
    'admin-tokens list': {
      is: 'list the tokens by name, with what they may do and when they were last used',
      run: async () => (await import('./admin-tokens.ts')).listAdminTokens,
    },
    'admin-tokens remove': {
      is: 'end a token, and all sessions that it began',
      args: [argument('<name>', 'the token')],
      examples: ['billing'],
      run: async () => (await import('./admin-tokens.ts')).remove,
    },
    'keys rekey': {
      is: 'encrypt all stored tokens anew with the first key of encryption.keys, while the daemon runs',
      examples: ['--config config/plimsoll.yaml'],
      run: async () => (await import('./keys.ts')).rekey,
    },
    schema: {
      is: 'print the JSON Schema of what a command prints with --json',
      args: [argument('[command...]', 'such as accounts list; none: list those that have one')],
      config: false,
      examples: ['', 'accounts list'],
      run: async () => (await import('./schema.ts')).printSchema,
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
}

export const DEFAULT_CONFIG = 'config/plimsoll.yaml'

export function programOptions(): Option[] {
  return [
    new Option(
      '-c, --config <file>',
      `config file, also after the command; else $PLIMSOLL_CONFIG or ${DEFAULT_CONFIG}`,
    ),
    new Option('--color', 'colors also where no terminal is'),
    new Option('--no-color', 'no colors; so does the environment variable NO_COLOR'),
  ]
}

/** Those of a command, with what most of them take. */
export function optionsOf({ options = [], config, json }: CommandSpec): Option[] {
  return [
    ...(config === false ? [] : [new Option('-c, --config <file>', 'config file').default(DEFAULT_CONFIG)]),
    ...(json === false ? [] : [new Option('--json', 'print JSON')]),
    ...options,
  ]
}
