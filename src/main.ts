#!/usr/bin/env node
import { spawnSync } from 'node:child_process'
import module from 'node:module'
import { join } from 'node:path'
import packageJson from '../package.json' with { type: 'json' }
import { openOutput, wantsColours } from './cli/output.ts'
import { systemClock } from './runtime/clock.ts'

const args = process.argv.slice(2)
/** EPIPE: the reader has closed the pipe (`| head`); the exit code of SIGPIPE. */
const CODES = { SIGTERM: 143, SIGINT: 130, EPIPE: 141, unwritable: 1 } as const

const nodeNeeded = packageJson.engines.node.replace('>=', '')
if (process.versions.node.localeCompare(nodeNeeded, 'en', { numeric: true }) < 0) {
  // An older one would end with a TypeError somewhere on the way.
  process.stderr.write(
    `plimsoll: it takes Node ${nodeNeeded} or newer, this is ${process.versions.node} (${process.execPath}): install one from https://nodejs.org\n`,
  )
  process.exit(1)
}

// Node's answer would be a debugger, on a port that every user of this machine reaches. `--disable-sigusr1` says so sooner,
// and not every way of starting has it.
process.on('SIGUSR1', () => {})

const stop = new AbortController()
let endedBy: keyof typeof CODES | undefined

/** Later calls do nothing: npm sends a signal of the terminal once more, and a daemon cut off by that would leave its Redis running. */
function end(by: keyof typeof CODES): void {
  if (endedBy !== undefined) return
  endedBy = by
  stop.abort(new Error(by))
  // Work may hang, and Ctrl-C must end the command all the same.
  setTimeout(() => process.exit(by === 'EPIPE' ? CODES.EPIPE : 1), 9_800).unref()
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => end(signal))

const output = openOutput(
  { out: process.stdout, err: process.stderr },
  { stop: stop.signal, clock: systemClock },
  (error) => {
    if (error.code !== 'EPIPE') output.err(`plimsoll: its output can't be written: ${error.code}\n`)
    end(error.code === 'EPIPE' ? 'EPIPE' : 'unwritable')
  },
)

async function run(): Promise<number> {
  // Half of a start is compiling what it loads. Compiled code is kept beside the code, since it is run, too: where only root may
  // write, nothing is kept.
  if (import.meta.filename.endsWith('.js')) module.enableCompileCache?.(join(import.meta.dirname, '..', '.cache'))
  if (args[0] === '__complete') {
    const { completions } = await import('./cli/completion.ts')
    const lines = await completions({ env: process.env, cwd: process.cwd() }, args.slice(1))
    output.out(lines.map((line) => `${line}\n`).join(''))
    return 0
  }
  const { runCommandLine } = await import('./cli/program.ts')
  return runCommandLine(args, {
    env: process.env,
    cwd: process.cwd(),
    ...output,
    isTerminal: process.stdout.isTTY === true,
    inIsTerminal: process.stdin.isTTY === true,
    errIsTerminal: process.stderr.isTTY === true,
    columns: process.stdout.columns ?? 120,
    errColumns: process.stderr.columns ?? 120,
    hasColours: wantsColours(args, process.env, process.stdout.isTTY === true),
    stdin: () => process.stdin,
    hideTyping: (isHidden) =>
      spawnSync('stty', [isHidden ? '-echo' : 'echo'], { stdio: ['inherit', 'ignore', 'ignore'] }),
    stop: stop.signal,
    onHangUp: (listener) => process.on('SIGHUP', listener),
    clock: systemClock,
    random: Math.random,
  })
}

const code = await run().catch((error: NodeJS.ErrnoException) => {
  if (error.syscall !== 'uv_cwd') throw error
  output.err('plimsoll: the current folder was removed: change to another one\n')
  return 1
})
// A stopped daemon has succeeded. Other work that was stopped has not, nor has output without a reader.
const isDone = (await output.flushed()) && code !== 1 && endedBy !== 'EPIPE' && endedBy !== 'unwritable'
// Nothing may keep a finished command alive: an idle socket least of all.
process.exit(isDone || endedBy === undefined ? code : CODES[endedBy])
