import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Io } from '../../src/cli/io.ts'
import { runCommandLine } from '../../src/cli/program.ts'
import { anIo } from './an-io.ts'
import { MAIN } from './main.ts'

export interface Ran {
  code: number | null
  out: string
  err: string
}

/** `plimsoll ARGS` in a folder, as a user runs it. */
export function plimsoll(args: readonly string[], cwd: string, env: Record<string, string> = {}): Promise<Ran> {
  return run(process.execPath, [MAIN, ...args], cwd, env)
}

export async function run(
  command: string,
  args: readonly string[],
  cwd: string,
  env: Record<string, string> = {},
): Promise<Ran> {
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  const ran = { out: '', err: '' }
  child.stdout.on('data', (data) => (ran.out += data))
  child.stderr.on('data', (data) => (ran.err += data))
  const [code] = (await once(child, 'close')) as [number | null]
  return { ...ran, code }
}

/** The same within this process: sooner, and at a time of the test's choosing. */
export async function plimsollHere(args: readonly string[], cwd: string, more: Partial<Io> = {}): Promise<Ran> {
  const ran = { out: '', err: '' }
  const code = await runCommandLine(args, {
    ...anIo({ cwd, ...more }),
    out: (text) => (ran.out += text),
    err: (text) => (ran.err += text),
  })
  return { ...ran, code }
}
