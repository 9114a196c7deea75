#!/usr/bin/env node
import { wantsColours } from './cli/colours.ts'
import { completeValues } from './cli/completion/complete-values.ts'
import { systemClock } from './runtime/clock.ts'

const args = process.argv.slice(2)
const SIGNAL_CODES = { SIGTERM: 143, SIGINT: 130 } as const

/** Arguments, signals, exit code. A second signal ends at once what the first one asked to end. */
const stop = new AbortController()
let endedBy: keyof typeof SIGNAL_CODES | undefined
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => {
    if (stop.signal.aborted) process.exit(130)
    endedBy = signal
    stop.abort(new Error(signal))
    // Whatever hangs: an operator who says stop gets it.
    setTimeout(() => process.exit(1), 9_800).unref()
  })
}

// Whoever read along has seen enough (`| head`): the end that SIGPIPE would be.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(141)
    if (stream === process.stdout) process.stderr.write(`plimsoll: what it says can't be written: ${error.code}\n`)
    process.exit(1)
  })
}

// A shell asks while somebody types: all that commands need takes longer to load than anybody waits.
if (args[0] === '__complete') {
  process.stdout.write(
    completeValues(args.slice(1), process.env)
      .map((value) => `${value}\n`)
      .join(''),
  )
  process.exit()
}

const { runCommandLine } = await import('./cli/program.ts')
const code = await runCommandLine(args, {
  env: process.env,
  cwd: process.cwd(),
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  isTerminal: process.stdout.isTTY === true,
  errIsTerminal: process.stderr.isTTY === true,
  columns: process.stdout.columns ?? 120,
  errColumns: process.stderr.columns ?? 120,
  hasColours: wantsColours(args, process.env, process.stdout.isTTY === true),
  stdin: () => process.stdin,
  stop: stop.signal,
  onHangUp: (listener) => process.on('SIGHUP', listener),
  clock: systemClock,
  random: Math.random,
})
// A daemon that was told to stop has done what it should; other work has not been done.
if (code === 1 && endedBy !== undefined) process.exit(SIGNAL_CODES[endedBy])
process.exitCode = code
// Nothing may keep a finished command alive: an idle socket least of all.
process.exit()
