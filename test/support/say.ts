/** A measured fact of a test run, for whoever reads its output. */
export function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
