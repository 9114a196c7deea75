import { SAMPLE_NAMES } from '../delivery/templates/sample-messages.ts'
import { argument, type CommandSpec, mostRows, option } from './arguments.ts'

/** Commands about alerts, the thresholds they come from and the outbox they go through. */
export const ALERT_COMMANDS: Readonly<Record<string, CommandSpec>> = {
  'alerts test': {
    is: 'send a test message through a receiver now; enables one that is switched off',
    args: [argument('<receiver>', 'its name in the config')],
    options: [
      option('--show', 'print what would be sent instead, and send nothing'),
      option('--kind <kind>', 'what to show: a message about such an alert; default: limit').choices(SAMPLE_NAMES),
    ],
    examples: ['ops-mail', 'ops-mail --kind token --show'],
    run: async () => (await import('./alerts-test.ts')).test,
  },
  'thresholds plan': {
    is: 'compare a config with the one in force: which levels change now',
    args: [argument('<file>', 'the config that may come')],
    options: [mostRows('most rows of the table of changes')],
    examples: ['new.yaml', 'new.yaml --json'],
    run: async () => (await import('./thresholds.ts')).planFile,
  },
  'outbox verify': {
    is: 'whether every transition that was committed is delivered, on its way, given up or withheld',
    run: async () => (await import('./outbox.ts')).verify,
  },
}
