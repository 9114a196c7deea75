import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { findProgram } from './programs.ts'

/** Where `config/setup.mjs` leaves the one that it has fetched. */
const FETCHED = fileURLToPath(new URL('../../node_modules/.cache/plimsoll/promtool', import.meta.url))

/** Runs Prometheus' own checker; `input` is what it reads from standard input. */
export async function promtool(args: readonly string[], input = ''): Promise<{ code: number | null; output: string }> {
  const child = spawn(findPromtool(), args, { stdio: ['pipe', 'pipe', 'pipe'] })
  const ended = new Promise<number | null>((resolve, reject) => child.on('error', reject).on('close', resolve))
  child.stdin.end(input)
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { code, output: out + err }
}

function findPromtool(): string {
  const found = findProgram(['promtool'], { given: process.env.PROMTOOL_BIN, fetched: FETCHED })
  if (found === undefined) throw new Error('there is no promtool: apt-get install prometheus, or set PROMTOOL_BIN')
  return found
}
