import { SAMPLE_NAMES } from '../delivery/templates/sample-messages.ts'
import {
  argument,
  type CommandSpec,
  mostRows,
  option,
  parseEach,
  parseEnd,
  parseHours,
  parseLength,
  parseTime,
} from './arguments.ts'

/** Commands about alerts, the thresholds they come from and the outbox they go through. */
export const ALERT_COMMANDS: Readonly<Record<string, CommandSpec>> = {
  'alerts silence': {
    is: 'send nothing about some alerts for a while; what still fires at the end is sent then',
    options: [
      option(
        '--match <name=value>',
        'what is silenced, one or several in a line: account, level, kind, rule, tag, series, objectType, from or to; * is anything; ' +
          'several of one name: any of them; different names: all',
      )
        .argParser(parseEach)
        .makeOptionMandatory(),
      option('--start <time>', 'from when; default: now').argParser(parseEnd),
      option('--for <duration>', 'how long, like 2h').argParser(parseLength).conflicts('until'),
      option('--until <time>', 'until when, like 2026-11-21T18:00 (in http.timeZone), or ISO 8601').argParser(parseEnd),
      option('--comment <text>', 'why').makeOptionMandatory(),
      option('--author <name>', 'by whom; default: who runs this'),
    ],
    examples: ['--match "account=1234567 level=warning" --for 2h --comment "a planned import"'],
    run: async () => (await import('./alerts-change.ts')).silence,
  },
  'alerts unsilence': {
    is: 'end a silence now; what still fires is sent',
    args: [argument('<id>', 'the silence')],
    examples: ['s-4k7mp'],
    run: async () => (await import('./alerts-change.ts')).endSilenceEarly,
  },
  'alerts test': {
    is: 'send a test message through a receiver now; enables one that is switched off',
    args: [argument('<receiver>', 'its name in the config')],
    options: [
      option('--show', 'print what would be sent instead, and send nothing'),
      option('--kind <kind>', 'what to show: a message about such an alert; default: limit').choices(SAMPLE_NAMES),
    ],
    examples: ['ops-mail', 'ops-mail --kind token --show'],
    run: async () => (await import('./alerts-change.ts')).test,
  },
  'thresholds plan': {
    is: 'compare a config with the one in force: which levels change now, what would have been sent',
    args: [argument('<file>', 'the config that may come')],
    options: [
      option('--over <duration>', 'how much of the stored history is replayed')
        .argParser(parseHours)
        .default(30 * 86_400_000, '30d'),
      mostRows('most rows of the table of changes'),
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
        .argParser(parseTime)
        .makeOptionMandatory(),
      option('--receiver <receiver>', 'only what one receiver was to get'),
    ],
    examples: ['--since 2h --receiver ops-hook'],
    run: async () => (await import('./outbox.ts')).replay,
  },
}
