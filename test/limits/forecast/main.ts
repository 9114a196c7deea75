import { formatDaysRange } from '../../../src/text/days-left.ts'
import { coverageOf } from './random-histories.ts'
import { outcomeOf, runShape, type Said } from './run-shape.ts'
import { SHAPES } from './shapes.ts'

/** `npm run forecasts`: what is foretold of each shape of history beside what comes true, and how often the range holds it. */
const shapes = SHAPES.map((shape) => {
  const said = runShape(shape)
  const { first, noticed, wrong, silent } = outcomeOf(said)
  const foretold = said.filter(({ day, outlook }) => day > noticed && outlook.forecast !== null).length
  const missed = `${wrong} of ${foretold}`
  return [shape.name, noticed, truthOf(first), rangeOf(first), missed, silent, shape.outcome].map(String)
})
print([['SHAPE', 'NOTICED ON DAY', 'TRUTH', 'SAID', 'OUTSIDE LATER', 'SILENT', 'OUTCOME'], ...shapes])
process.stdout.write(
  '\nDays count from the change. TRUTH and SAID are of the day of notice; OUTSIDE LATER: days after it on which the truth is' +
    '\noutside of the range; SILENT: days on which nothing is foretold though an end comes.\n\n',
)

const kinds = coverageOf(1_000)
const sum = (of: 'histories' | 'told' | 'inside' | 'before' | 'after') => kinds.reduce((all, row) => all + row[of], 0)
const all = { kind: 'all', histories: sum('histories'), told: sum('told'), inside: sum('inside') }
const percent = (part: number, of: number) => `${((100 * part) / of).toFixed(1)} %`
print([
  ['RANDOM HISTORIES', 'NUMBER', 'FORETOLD', 'IN THE RANGE', 'BEFORE', 'AFTER'],
  ...[...kinds, { ...all, before: sum('before'), after: sum('after') }].map(
    ({ kind, histories, told, inside, before, after }) => [
      ...[kind, String(histories), String(told)],
      ...[inside, before, after].map((part) => percent(part, told)),
    ],
  ),
])

function truthOf(said: Said | undefined): string {
  if (said === undefined) return ''
  return Number.isFinite(said.truth) ? String(Math.round(said.truth * 10) / 10) : 'never'
}

function rangeOf(said: Said | undefined): string {
  const forecast = said?.outlook.forecast
  if (forecast == null) return said?.outlook.forecastReason ?? ''
  return forecast.days.toFixed(1) + formatDaysRange(forecast.days, forecast)
}

function print(rows: readonly (readonly string[])[]): void {
  const widths = rows[0]?.map((_, n) => Math.max(...rows.map((row) => row[n]?.length ?? 0))) ?? []
  for (const row of rows) {
    const line = row.map((cell, n) => cell.padEnd(widths[n] ?? 0)).join('  ')
    process.stdout.write(`${line.trimEnd()}\n`)
  }
}
