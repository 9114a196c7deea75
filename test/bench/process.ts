import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

export interface BenchProcess {
  /** Where it can be reached, or what it measured. */
  readonly firstLine: string
  /** Rejects where it failed. */
  readonly ended: Promise<void>
  stop(): void
}

/** A file of this folder in a process of its own; there once it has said its first line. */
export async function startProcess(
  file: string,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<BenchProcess> {
  const child = spawn(process.execPath, [new URL(file, import.meta.url).pathname, ...args], {
    ...{ stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, ...env } },
  })
  const ended = once(child, 'exit').then(([code]) => {
    if (code !== 0 && code !== null) throw new Error(`${file} ended with code ${code}`)
  })
  ended.catch(() => undefined)
  const silent = ended.then(() => {
    throw new Error(`${file} said nothing`)
  })
  silent.catch(() => undefined)
  const [firstLine] = (await Promise.race([once(createInterface({ input: child.stdout }), 'line'), silent])) as [string]
  return { firstLine, ended, stop: () => child.kill() }
}
