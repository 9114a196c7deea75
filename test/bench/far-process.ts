import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

export interface FarProcess {
  /** What it says on its first line. */
  readonly url: string
  stop(): void
}

/** A server of this folder in a process of its own. */
export async function startFarProcess(file: string): Promise<FarProcess> {
  const child = spawn(process.execPath, [new URL(file, import.meta.url).pathname], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [url] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  return { url, stop: () => child.kill() }
}
