/**
 * Commands of the documents that a test of their own runs: by name, so that a new command can't slip in. However a document
 * calls the command line, here it is `plimsoll ...`.
 */
export const RUN_ELSEWHERE: Record<string, string> = {
  'npm run simulate': 'test/e2e/simulate.test.ts',
  'npm run simulate -- --minutes 30': 'test/e2e/simulate.test.ts',
  'npm run simulate -- --mix "lost answers" --seed 30': 'test/e2e/simulate.test.ts',
  'npm run demo': 'test/e2e/demo.test.ts',
  // Every set-up runs it.
  'npm ci': 'config/setup/setup.mjs',
  'kill -HUP PID': 'test/e2e/reload.test.ts',
  'npm pack': 'test/e2e/installed-package.test.ts',
  'npm install ./plimsoll-*.tgz': 'test/e2e/installed-package.test.ts',
  'npx plimsoll demo': 'test/e2e/installed-package.test.ts',
  // How commands begin, in an installed package and in a clone.
  'npx plimsoll': 'test/e2e/installed-package.test.ts',
  'npm run -s plimsoll --': 'test/e2e/guides.test.ts',
  'npm run demo -- --for 30s': 'test/e2e/demo.test.ts',
  'plimsoll start --config config/plimsoll.yaml': 'test/e2e/start.test.ts',
  'plimsoll start --config config/plimsoll.yaml --roles worker': 'test/e2e/start.test.ts',
  'plimsoll accounts reconnect-link acme.example.com --send': 'test/e2e/command-line.test.ts',
  'plimsoll accounts connect --refresh-token-file token.txt': 'test/e2e/command-line.test.ts',
  'plimsoll accounts uninstall 1234567 --wait': 'test/e2e/command-line.test.ts',
  'plimsoll init': 'test/cli/init.test.ts',
  'plimsoll doctor': 'test/e2e/doctor.test.ts',
  'plimsoll alerts ack ALERT_ID': 'test/cli/alerts-silence.test.ts',
  'plimsoll alerts unack ALERT_ID': 'test/cli/json-shapes.test.ts',
  'plimsoll alerts unsilence SILENCE_ID': 'test/cli/alerts-silence.test.ts',
  'plimsoll alerts test ops': 'test/e2e/messages.test.ts',
  'plimsoll accounts import fleet.csv': 'test/e2e/import.test.ts',
  'plimsoll check': 'test/cli/check.test.ts',
  'plimsoll thresholds plan new.yaml': 'test/cli/thresholds-plan.test.ts',
  'npm run bench': 'test/e2e/bench.test.ts',
  'npm run bench -- P1': 'test/e2e/bench.test.ts',
  'npm run -s bench -- --json': 'test/e2e/bench.test.ts',
  'npm run bench -- --against FOLDER P2': 'test/e2e/bench.test.ts',
  // Minutes of work, for people who read the pictures.
  'npm run screenshots -- FOLDER': 'package.json',
  // What it does is this run and two programs.
  'npm run check': 'package.json',
  'npm run rules': 'package.json',
  // It rewrites a file of the repository.
  'npm run rules -- --lower': 'test/rules/README.md',
  'npm run nightly': 'package.json',
  'npm run simulate -- --minutes 20 --seed random --keep': 'package.json',
  'npm run mutations': 'package.json',
  'npm run mutations -- --jobs 2': 'test/simulation/mutations.ts',
  // The form of the others.
  'npm run ...': 'package.json',
}

/** Documents, or parts of them, that a test of their own follows from the first command to the last. */
export const WALKED: readonly { path: string; heading?: string; by: string }[] = [
  { path: 'README.md', heading: 'First ten minutes', by: 'test/e2e/guides.test.ts' },
  { path: 'config/guide/operation.md', heading: 'Change the encryption key', by: 'test/e2e/docs.test.ts' },
  { path: 'config/guide/api.md', by: 'test/e2e/guides.test.ts' },
  { path: 'config/deploy/README.md', by: 'test/e2e/deploy-guide.test.ts' },
  { path: 'config/deploy/monitoring.md', heading: 'Prometheus', by: 'test/e2e/monitoring.test.ts' },
]
