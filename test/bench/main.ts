import { cpus, totalmem } from 'node:os'
import { parseArgs } from 'node:util'
import { accountRecords } from './account-records.ts'
import { accountsPage } from './accounts-page.ts'
import { dueMoments } from './due-moments.ts'
import { type Figure, type Measured, measure, rounded } from './figure.ts'
import { historyRecords } from './history-records.ts'
import { idle } from './idle.ts'
import { refreshOnly } from './refresh-only.ts'

/** `npm run bench [-- P5] [-- --json] [-- --rounds 5] [-- --accounts 1000] [-- --fleet 100000]`: every figure side by side with its reference, in one run. */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean' },
    rounds: { type: 'string', default: '5' },
    // Those that live through a month: each costs a tenth of a second.
    accounts: { type: 'string', default: '1000' },
    // Those that are listed on the page of accounts.
    fleet: { type: 'string', default: '100000' },
  },
})
const FIGURES: Figure[] = [
  refreshOnly,
  dueMoments,
  accountRecords,
  historyRecords(Number(values.accounts)),
  accountsPage(Number(values.fleet)),
  idle,
]
const unknown = positionals.filter((id) => !FIGURES.some((figure) => figure.id === id))
if (unknown.length > 0) {
  console.error(`no figure ${unknown.join(', ')}: there is ${[...new Set(FIGURES.map(({ id }) => id))].join(', ')}`)
  process.exit(2)
}
const wanted = FIGURES.filter(({ id }) => positionals.length === 0 || positionals.includes(id))
const machine = {
  cpu: cpus()[0]?.model ?? 'unknown',
  cores: cpus().length,
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  node: process.version,
}
const figures: Measured[] = []
for (const figure of wanted)
  figures.push(...(await measure(figure, Number(values.rounds), (text) => process.stderr.write(text))))

if (values.json === true) console.log(JSON.stringify({ machine, figures }))
else printTable(figures)

function printTable(rows: readonly Measured[]): void {
  console.log(`${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB, Node ${machine.node}\n`)
  console.log('| # | figure | unit | ours | reference | ratio [min..max] | rounds |')
  console.log('|---|---|---|---|---|---|---|')
  for (const { id, what, unit, ours, reference, ratio, min, max, rounds } of rows) {
    const spread = `${ratio.toFixed(2)} [${min.toFixed(2)}..${max.toFixed(2)}]`
    console.log(`| ${id} | ${what} | ${unit} | ${rounded(ours)} | ${rounded(reference)} | ${spread} | ${rounds} |`)
  }
}
