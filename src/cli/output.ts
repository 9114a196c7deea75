import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { styleText } from 'node:util'
import type { Clock } from '../runtime/clock.ts'
import type { Io } from './io.ts'

/** Standard output and standard error: what is written gets there whole, however slow whoever reads it is. */
export interface Output {
  out(text: string): void
  err(text: string): void
  /** Resolves once there is room for more, and at once when the process is told to stop: who has much to write waits for it. */
  drained(): Promise<void>
  /** Resolves once all is taken, with true; some time after the process was told to stop with false. */
  flushed(): Promise<boolean>
}

/** What was said about the end still reaches whoever reads; nobody waits for one who doesn't. */
const PATIENCE_MS = 1_000

/** `onLost` is told once of what can't be written; from then on nothing is. */
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
        // What keeps it from ever draining is told to `onLost`, or is the signal to stop.
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

/** Levels, states and outcomes: one colour for what asks for somebody, for what may, for what is well, for what is over. */
const WORDS: Readonly<Record<Colour, readonly string[]>> = {
  red: ['critical', 'fail', 'failed', 'dead', 'must reconnect', 'refused'],
  yellow: ['warning', 'warn', 'failing', 'pending', 'unknown', 'paused by the provider', 'uninstalling'],
  green: ['ok', 'active', 'delivered', 'read', 'yes'],
  gray: ['off', 'uninstalled', 'withheld', 'not watched'],
}

const COLOUR_OF = new Map(
  Object.entries(WORDS).flatMap(([colour, words]) => words.map((word) => [word, colour as Colour] as const)),
)

/** A level or state in its colour, where colours are wanted; `shown`: how it stands in its column. */
export function coloured({ hasColours }: Pick<Io, 'hasColours'>, word: string, shown = word): string {
  const colour = COLOUR_OF.get(word)
  return hasColours && colour !== undefined ? styleText(colour, shown, { validateStream: false }) : shown
}

/** What the command line says decides, then the environment (no-color.org), then whether somebody can see them. */
export function wantsColours(args: readonly string[], env: Io['env'], isTerminal: boolean): boolean {
  const end = args.indexOf('--')
  const options = end === -1 ? args : args.slice(0, end)
  if (options.includes('--no-color')) return false
  if (options.includes('--color')) return true
  if ((env.NO_COLOR ?? '') !== '') return false
  if (env.FORCE_COLOR !== undefined) return !['0', 'false'].includes(env.FORCE_COLOR)
  return isTerminal && env.TERM !== 'dumb'
}
