import { parseArgs } from 'node:util'
import { ceilingFaults, lowerCeilings } from './ceilings.ts'
import { documentFaults } from './documents.ts'
import { importFaults } from './imports.ts'
import { runbookFaults } from './runbook.ts'
import { readSources } from './sources.ts'
import { wordFaults } from './words.ts'

const { values } = parseArgs({ options: { lower: { type: 'boolean', default: false } } })
const sources = readSources()
if (values.lower) lowerCeilings(sources)
const rules = {
  imports: importFaults(sources),
  ceilings: ceilingFaults(sources),
  documents: documentFaults(),
  runbook: runbookFaults(),
  words: wordFaults(sources),
}
for (const [rule, faults] of Object.entries(rules)) {
  for (const fault of faults) process.stderr.write(`${rule}: ${fault}\n`)
}
const count = Object.values(rules).flat().length
process.stdout.write(`${sources.length} files read, ${count} faults\n`)
process.exitCode = count === 0 ? 0 : 1
