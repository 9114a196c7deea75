import { cpus, loadavg, totalmem } from 'node:os'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { figuresOfBoth } from './against-tree.ts'
import { type Figure, type Measured, measure } from './figure.ts'
import { figuresFor } from './figures.ts'
import { QUIET_LOAD, refusal } from './quiet-machine.ts'
import { tableOf } from './table.ts'
import { tlsEnvironment, WITH_TLS } from './tls-of-far-sides.ts'

/**
 * `npm run bench [-- P1 P3] [--json] [--tls] [--against FOLDER] [--load 1] [--rounds 4]` and sizes: every figure side by side
 * with its references, or with another tree's, in one run.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    tls: { type: 'boolean', default: false },
    // Another tree, built, in place of the references.
    against: { type: 'string' },
    load: { type: 'string', default: String(QUIET_LOAD) },
    rounds: { type: 'string', default: '4' },
    accounts: { type: 'string', default: '500' },
    fleet: { type: 'string', default: '100000' },
    cycles: { type: 'string', default: '4000' },
    refreshes: { type: 'string', default: '40000' },
  },
})
const sizes = {
  ...{ accounts: Number(values.accounts), fleet: Number(values.fleet) },
  ...{ cycles: Number(values.cycles), refreshes: Number(values.refreshes) },
}
const own = figuresFor(sizes)
const ids = [...new Set(own.flatMap(idsOf))].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
const possible = values.tls ? WITH_TLS : ids
const unknown = positionals.filter((id) => !possible.includes(id))
if (unknown.length > 0) {
  stop(2, `no figure ${unknown.join(', ')}${values.tls ? ' with TLS' : ''}: there is ${possible.join(', ')}`)
}
const wanted = positionals.length === 0 ? possible : positionals
const begun = { at: performance.now(), load: load() }
const refused = refusal(begun.load, Number(values.load))
if (refused !== undefined) stop(1, refused)
const figures = own.filter((one) => idsOf(one).some((id) => wanted.includes(id)))
const against = values.against === undefined ? undefined : resolve(values.against)
const measurable = against === undefined ? figures : await figuresOfBoth(figures, against, sizes)
if (typeof measurable === 'string') stop(2, measurable)

const machine = {
  cpu: cpus()[0]?.model ?? 'unknown',
  cores: cpus().length,
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  node: process.version,
}
// Of every process that is started from now on.
if (values.tls) Object.assign(process.env, tlsEnvironment())
const measured: Measured[] = []
for (const figure of measurable)
  measured.push(...(await measure(figure, wanted, Number(values.rounds), (text) => process.stderr.write(text))))
measured.sort((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id))
// Who reads the figures can tell by it whether the machine did something else meanwhile.
const run = {
  ...{ minutes: (performance.now() - begun.at) / 60_000, loadBefore: begun.load, loadAfter: load() },
  ...{ loadAllowed: Number(values.load), tls: values.tls, ...(against === undefined ? {} : { against }) },
}

if (values.json) console.log(JSON.stringify({ machine, run, figures: measured }))
else {
  console.log(`${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB, Node ${machine.node}`)
  const loads = `load average ${run.loadBefore} before, ${run.loadAfter} after, ${run.loadAllowed} allowed`
  console.log(`${run.minutes.toFixed(1)} minutes, ${loads}; ${run.tls ? 'TLS' : 'no TLS'} between clients and provider`)
  if (against !== undefined) console.log(`reference: ${against}`)
  console.log(`\n${tableOf(measured)}`)
}

function idsOf(figure: Figure): string[] {
  return figure.rows.map(({ id = figure.id }) => id)
}

/** Of the last minute. */
function load(): number {
  return Number((loadavg()[0] ?? 0).toFixed(2))
}

function stop(code: number, why: string): never {
  console.error(why)
  process.exit(code)
}
