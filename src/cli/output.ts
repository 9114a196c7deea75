import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { styleText } from 'node:util'
import type { Clock } from '../runtime/clock.ts'
import type { Io } from './io.ts'

/** Standard output and standard error: all text arrives whole, however slow its reader is. */
interface Output {
  out(text: string): void
  err(text: string): void
  /** Resolves once there is room for more, and at once on a signal to stop: a command with much output waits for it. */
  drained(): Promise<void>
  /** Resolves once all is taken, with true; some time after a signal to stop with false. */
  flushed(): Promise<boolean>
}

/** The last lines after a signal to stop have so long to reach a slow reader; then the process ends without it. */
const PATIENCE_MS = 1_000

/** Calls `onLost` once, at the first text that can't be written; later texts are dropped. */
export function openOutput(
  streams: { out: Writable; err: Writable },
  { stop, clock }: { stop: AbortSignal; clock: Pick<Clock, 'wait'> },
  onLost: (error: NodeJS.ErrnoException) => void,
): Output {
  const all = [streams.out, streams.err]
  let isLost = false
  const lose = (error: Error) => {
    if (!isLost) onLost(error)
    isLost = true
  }
  for (const stream of all) stream.on('error', lose)
  const writer = (stream: Writable) => (text: string) => {
    if (!isLost) stream.write(text)
  }
  return {
    out: writer(streams.out),
    err: writer(streams.err),
    drained: async () => {
      for (const stream of all) {
        // A stream that never drains has failed, which `onLost` reports, or ends with the signal to stop.
        while (stream.writableNeedDrain && !stop.aborted)
          await once(stream, 'drain', { signal: stop }).catch(() => undefined)
      }
    },
    flushed: () => {
      const taken = all.map((stream) => take(stream).catch(lose))
      return Promise.race([Promise.all(taken).then(() => true), patience(stop, clock)])
    },
  }
}

function take(stream: Writable): Promise<void> {
  return new Promise((resolve, reject) => stream.write('', (error) => (error ? reject(error) : resolve())))
}

async function patience(stop: AbortSignal, clock: Pick<Clock, 'wait'>): Promise<false> {
  if (!stop.aborted) await once(stop, 'abort')
  await clock.wait(PATIENCE_MS)
  return false
}

type Colour = 'red' | 'yellow' | 'green' | 'gray'

/**
 * Levels, states and outcomes: one color for those that need an operator, for those that may, for good ones, for ended ones.
 */
const WORDS: Readonly<Record<Colour, readonly string[]>> = {
  red: ['critical', 'fail', 'failed', 'dead', 'must reconnect', 'refused'],
  yellow: ['warning', 'warn', 'failing', 'pending', 'unknown', 'paused by HubSpot', 'uninstalling'],
  green: ['ok', 'active', 'delivered', 'read', 'yes'],
  gray: ['off', 'uninstalled', 'withheld', 'not watched'],
}

const COLOUR_OF = new Map(
  Object.entries(WORDS).flatMap(([colour, words]) => words.map((word) => [word, colour as Colour] as const)),
)

/** A level or state in its color, where colors are wanted; `shown`: its text in the column. */
export function coloured({ hasColours }: Pick<Io, 'hasColours'>, word: string, shown = word): string {
  const colour = COLOUR_OF.get(word)
  return hasColours && colour !== undefined ? styleText(colour, shown, { validateStream: false }) : shown
}

/** The command line decides, then the environment (no-color.org), then whether the output is a terminal. */
export function wantsColours(args: readonly string[], env: Io['env'], isTerminal: boolean): boolean {
  const end = args.indexOf('--')
  const options = end === -1 ? args : args.slice(0, end)
  if (options.includes('--no-color')) return false
  if (options.includes('--color')) return true
  if ((env.NO_COLOR ?? '') !== '') return false
  if (env.FORCE_COLOR !== undefined) return !['0', 'false'].includes(env.FORCE_COLOR)
  return isTerminal && env.TERM !== 'dumb'
}
