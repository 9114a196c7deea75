import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

/**
 * `npm run mutations -- [--jobs 2] [--seeds 300] [--only WORDS,WORDS]`: makes each fault of `mutations.txt` alone, in a copy of the tree, and runs
 * the simulation until it finds it. Fails where one is not found, or its lines are not in the file any more.
 */
const { values } = parseArgs({
  options: {
    jobs: { type: 'string', default: String(cpus().length) },
    seeds: { type: 'string', default: '300' },
    only: { type: 'string', default: '' },
  },
})

interface Mutation {
  name: string
  mixes: string[]
  file: string
  before: string[]
  after: string[]
}

const ROOT = join(import.meta.dirname, '..', '..')
const COPIED = ['src', 'jobs', 'test/simulation', 'test/support', 'package.json']
/** Of a run that goes round without asking for anything. */
const LONGEST_MS = 1_800_000

function readMutations(): Mutation[] {
  const parts = readFileSync(join(import.meta.dirname, 'mutations.txt'), 'utf8')
    .split('\n= ')
    .slice(1)
  return parts.map((part) => {
    const [name = '', ...lines] = part.trim().split('\n')
    const allOf = (begin: string) => lines.flatMap((line) => (line.startsWith(begin) ? [line.slice(begin.length)] : []))
    const [mixes = '', file = ''] = [...allOf('mixes: '), ...allOf('file: ')]
    return { name, mixes: mixes.split(', '), file, before: allOf('- '), after: allOf('+ ') }
  })
}

/** Lines one behind the other, however they are indented: the text with the others in their place. */
function mutate(text: string, { before, after }: Mutation): string | undefined {
  const escaped = before.map((line) => line.trim().replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  const found = [...text.matchAll(new RegExp(escaped.join('\\n\\s*'), 'g'))]
  const [{ 0: own = '', index = 0 } = {}] = found
  return found.length === 1 ? text.slice(0, index) + after.join('\n') + text.slice(index + own.length) : undefined
}

interface Outcome {
  runs: number
  found?: { mix: string; seed: number; what: string }
}

function simulate(folder: string, mixes: readonly string[]): Promise<Outcome> {
  const args = ['--until-found', '--json', '--seeds', values.seeds, ...mixes.flatMap((mix) => ['--mix', mix])]
  const child = spawn(process.execPath, ['test/simulation/main.ts', ...args], { cwd: folder, timeout: LONGEST_MS })
  let [output, errors] = ['', '']
  child.stdout.on('data', (bytes) => (output += bytes))
  child.stderr.on('data', (bytes) => (errors += bytes))
  return new Promise((resolve) => {
    child.on('close', (_, signal) => {
      if (output !== '') resolve(JSON.parse(output))
      else if (signal !== null) resolve({ runs: 0, found: { mix: '', seed: 0, what: 'it hangs' } })
      else resolve({ runs: 0, found: { mix: '', seed: 0, what: `does not run: ${errors.trim().split('\n').at(-1)}` } })
    })
  })
}

async function tryOne(mutation: Mutation): Promise<string> {
  const { name, file, mixes } = mutation
  const text = mutate(readFileSync(join(ROOT, file), 'utf8'), mutation)
  if (text === undefined) return fail(`${name}: its lines are not once in ${file}`)
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-mutation-'))
  try {
    for (const part of COPIED) cpSync(join(ROOT, part), join(folder, part), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    writeFileSync(join(folder, file), text)
    const begunAt = performance.now()
    const { runs, found } = await simulate(folder, mixes)
    const seconds = Math.round((performance.now() - begunAt) / 1_000)
    const by = found === undefined ? fail('not found') : `${found.mix} ${found.seed}: ${found.what}`
    return `| ${name} | ${by} | ${runs} | ${seconds} |`
  } finally {
    rmSync(folder, { recursive: true })
  }
}

let failed = 0
function fail(why: string): string {
  failed++
  return why.toUpperCase()
}

const waiting = readMutations().filter(({ name }) => values.only.split(',').some((words) => name.includes(words)))
const say = (line: string) => process.stdout.write(`${line}\n`)
say('| mutation | found by | runs | seconds |\n|---|---|---|---|')
const count = waiting.length
const work = async () => {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) say(await tryOne(next))
}
await Promise.all(Array.from({ length: Number(values.jobs) }, work))
say(`\n${count} mutations, ${count - failed} found`)
process.exitCode = failed === 0 ? 0 : 1
