import { CommandError, type Io } from './io.ts'

/** After a signal to stop, work in hand has so long: a little later the process is ended, with a code that means otherwise. */
const PATIENCE_MS = { 'by itself': 8_000, 'at once': 100 } as const

/** What `work` comes to; it looks at the signal itself, and is left behind if it does not end soon after it. */
export async function untilStopped<T>(
  io: Pick<Io, 'stop' | 'clock'>,
  work: Promise<T>,
  stops: keyof typeof PATIENCE_MS = 'by itself',
): Promise<T> {
  const done = new AbortController()
  try {
    return await Promise.race([work, patience(io, PATIENCE_MS[stops], done.signal)])
  } finally {
    done.abort()
  }
}

async function patience({ stop, clock }: Pick<Io, 'stop' | 'clock'>, ms: number, done: AbortSignal): Promise<never> {
  await new Promise<void>((resolve) => {
    if (stop.aborted) resolve()
    stop.addEventListener('abort', () => resolve(), { once: true, signal: done })
  })
  await clock.wait(ms, done)
  throw new CommandError(ms === PATIENCE_MS['at once'] ? 'stopped' : 'stopped, with work left behind')
}
