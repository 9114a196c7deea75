import { once } from 'node:events'
import type { Writable } from 'node:stream'
import type { Clock } from '../runtime/clock.ts'

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
