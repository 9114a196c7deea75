import { CommandError, type Io } from './io.ts'

/** After a signal to stop, work in hand has so long: a little later the process is ended, with a code that means otherwise. */
const PATIENCE_MS = 8_000

/** What `work` comes to; it looks at the signal itself, and is left behind if it does not end soon after it. */
export async function untilStopped<T>(io: Pick<Io, 'stop' | 'clock'>, work: Promise<T>): Promise<T> {
  const done = new AbortController()
  try {
    return await Promise.race([work, patience(io, done.signal)])
  } finally {
    done.abort()
  }
}

async function patience({ stop, clock }: Pick<Io, 'stop' | 'clock'>, done: AbortSignal): Promise<never> {
  await new Promise<void>((resolve) => {
    if (stop.aborted) resolve()
    stop.addEventListener('abort', () => resolve(), { once: true, signal: done })
  })
  await clock.wait(PATIENCE_MS, done)
  throw new CommandError('stopped, with work left behind')
}
