import { cpus, loadavg, totalmem } from 'node:os'
import { parseArgs } from 'node:util'
import { accountRecords } from './account-records.ts'
import { accountsPage } from './accounts-page.ts'
import { cycleAtLatency, cycleParsed, cycleUnchanged } from './cycle.ts'
import { dueMoments } from './due-moments.ts'
import { type Figure, type Measured, measure } from './figure.ts'
import { growth } from './growth.ts'
import { historyRecords } from './history-records.ts'
import { idle } from './idle.ts'
import { lateness } from './lateness.ts'
import { refreshOnly } from './refresh-only.ts'
import { tableOf } from './table.ts'

/** `npm run bench [-- P1 P3] [-- --json] [-- --rounds 4] [-- --accounts 500] [-- --fleet 100000] [-- --cycles 4000]`: every figure side by side with its references, in one run. */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean' },
    rounds: { type: 'string', default: '4' },
    // Those that live through a month: each costs a tenth of a second.
    accounts: { type: 'string', default: '500' },
    // Those that are listed on the page of accounts, and the largest fleet of P8 and P9.
    fleet: { type: 'string', default: '100000' },
    // Those that go through a cycle in each round.
    cycles: { type: 'string', default: '4000' },
  },
})
const FIGURES: Figure[] = [
  cycleParsed(Number(values.cycles)),
  cycleUnchanged(Number(values.cycles)),
  // Twice as many: the slack at either end of a round is none of the daemon's speed.
  cycleAtLatency(2 * Number(values.cycles)),
  refreshOnly(40_000),
  dueMoments,
  accountRecords,
  historyRecords(Number(values.accounts)),
  accountsPage(Number(values.fleet)),
  growth(Number(values.fleet)),
  lateness(Number(values.fleet)),
  idle,
]
const ids = [...new Set(FIGURES.flatMap(idsOf))].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
const unknown = positionals.filter((id) => !ids.includes(id))
if (unknown.length > 0) {
  console.error(`no figure ${unknown.join(', ')}: there is ${ids.join(', ')}`)
  process.exit(2)
}
const wanted = positionals.length === 0 ? ids : positionals
const machine = {
  cpu: cpus()[0]?.model ?? 'unknown',
  cores: cpus().length,
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  node: process.version,
}
const begun = { at: performance.now(), load: load() }
const figures: Measured[] = []
for (const figure of FIGURES.filter((one) => idsOf(one).some((id) => wanted.includes(id))))
  figures.push(...(await measure(figure, wanted, Number(values.rounds), (text) => process.stderr.write(text))))
figures.sort((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id))
// Who reads the figures can tell by it whether the machine did something else meanwhile.
const run = { minutes: (performance.now() - begun.at) / 60_000, loadBefore: begun.load, loadAfter: load() }

if (values.json === true) console.log(JSON.stringify({ machine, run, figures }))
else {
  console.log(`${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB, Node ${machine.node}`)
  console.log(`${run.minutes.toFixed(1)} minutes, load average ${run.loadBefore} before, ${run.loadAfter} after\n`)
  console.log(tableOf(figures))
}

function idsOf(figure: Figure): string[] {
  return figure.rows.map(({ id = figure.id }) => id)
}

/** Of the last minute. */
function load(): number {
  return Number((loadavg()[0] ?? 0).toFixed(2))
}
