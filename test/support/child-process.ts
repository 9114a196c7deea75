import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/** A program that answers each line of its input with one of its own, and exits at the end of its input. */
export interface LineProcess {
  readonly pid: number
  /** Its address, or that it is ready. */
  readonly firstLine: string
  ask(line?: string): Promise<string>
  stop(): Promise<void>
}

/** Resolves once the program has written its first line. */
export async function startProcess(file: URL, args: readonly string[] = []): Promise<LineProcess> {
  const child = spawn(process.execPath, [file.pathname, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const nextLine = async () => {
    const { value, done } = await lines.next()
    if (done === true) throw new Error(`${file.pathname} ended without an answer`)
    return value
  }
  return {
    pid: child.pid ?? 0,
    firstLine: await nextLine(),
    ask: (line = '') => {
      child.stdin.write(`${line}\n`)
      return nextLine()
    },
    stop: async () => {
      child.stdin.end()
      await exited
    },
  }
}
