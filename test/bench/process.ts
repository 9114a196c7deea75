import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

export interface BenchProcess {
  /** Where it can be reached, or that it is ready. */
  readonly firstLine: string
  /** Its answer to a line. */
  ask(): Promise<string>
  /** At the end of its input, or at once if it does not read any. */
  stop(how?: 'at once'): Promise<void>
}

/** A file of this folder in a process of its own; there once it has said its first line. */
export async function startProcess(
  file: string,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<BenchProcess> {
  const child = spawn(process.execPath, [new URL(file, import.meta.url).pathname, ...args], {
    ...{ stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, ...env } },
  })
  const exited = once(child, 'exit')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const nextLine = async () => {
    const { value, done } = await lines.next()
    if (done === true) throw new Error(`${file} ended before it said anything more`)
    return value
  }
  return {
    firstLine: await nextLine(),
    ask: () => {
      child.stdin.write('\n')
      return nextLine()
    },
    stop: async (how) => {
      if (how === 'at once') child.kill()
      else child.stdin.end()
      await exited
    },
  }
}
