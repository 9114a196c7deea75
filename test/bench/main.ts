import { cpus, loadavg, totalmem } from 'node:os'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { againstTree } from './against-tree.ts'
import { type Figure, type Measured, measure, tableOf } from './figure.ts'
import { figuresFor } from './figures.ts'

/** Without `--rounds` a figure ends after so many rounds, or when it has taken so long: a slow machine ends in time, too. */
const ROUNDS = 4
const FIGURE_MS = 80_000

const { values, positionals } = readArguments()
const { rounds, cycles, refreshes, fleet } = values
const sizes = { cycles: countOf(cycles), refreshes: countOf(refreshes), fleet: countOf(fleet) }
const limits = rounds === undefined ? { rounds: ROUNDS, ms: FIGURE_MS } : { rounds: countOf(rounds), ms: Infinity }
const machine = {
  cpu: cpus()[0]?.model ?? 'unknown',
  cores: cpus().length,
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  node: process.version,
  // Of the last minute: on a machine that does other work, trust ratios and not the numbers.
  load: Number((loadavg()[0] ?? 0).toFixed(2)),
}
const figures: Measured[] = []
for (const figure of await wantedFigures()) {
  try {
    figures.push(...(await measure(figure, limits, (text) => process.stderr.write(text))))
  } catch (error) {
    // The others are measured all the same.
    console.error(`${figure.rows[0]?.id} was not measured: ${messageOf(error)}`)
    process.exitCode = 1
  }
}
figures.sort((a, b) => a.id.localeCompare(b.id, 'en', { numeric: true }))
if (values.json) console.log(JSON.stringify({ machine, figures }))
else {
  const { cpu, cores, memoryGiB, node, load } = machine
  console.log(`${cpu}, ${cores} cores, ${memoryGiB} GiB, Node ${node}, load ${load} before\n\n${tableOf(figures)}`)
}

async function wantedFigures(): Promise<Figure[]> {
  const own = figuresFor(sizes)
  const ids = new Set(own.flatMap(({ rows }) => rows.map(({ id }) => id)))
  const unknown = positionals.filter((id) => !ids.has(id))
  if (unknown.length > 0) stop(`no figure ${unknown.join(', ')}: there is ${[...ids].join(', ')}`)
  const wanted = own
    .map((figure) => ({ ...figure, rows: figure.rows.filter(({ id }) => isWanted(id)) }))
    .filter(({ rows }) => rows.length > 0)
  return values.against === undefined
    ? wanted
    : againstTree(wanted, resolve(values.against), sizes).catch((error) => stop(messageOf(error)))
}

function isWanted(id: string): boolean {
  return positionals.length === 0 || positionals.includes(id)
}

function readArguments() {
  const options = {
    json: { type: 'boolean' },
    // Another tree, built, in place of the references.
    against: { type: 'string' },
    rounds: { type: 'string' },
    // Accounts in each round of a cycle, of P5, and in the large fleet of P8.
    cycles: { type: 'string', default: '4000' },
    refreshes: { type: 'string', default: '20000' },
    fleet: { type: 'string', default: '50000' },
  } as const
  try {
    return parseArgs({ allowPositionals: true, options })
  } catch (error) {
    return stop(messageOf(error))
  }
}

function countOf(text: string): number {
  return /^[1-9]\d*$/.test(text)
    ? Number(text)
    : stop(`${text} is no number of rounds or accounts: 1 or more is needed`)
}

function stop(why: string): never {
  console.error(why)
  process.exit(2)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
