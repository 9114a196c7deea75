import { ownKey } from '../../src/tokens/vault-keys.ts'

/** Another process that starts for the first time on a data folder, when its input ends. */
const [dataDir = ''] = process.argv.slice(2)
process.stdout.write('ready\n')
process.stdin.resume()
process.stdin.on('end', () => {
  const { key, made } = ownKey(dataDir)
  process.stdout.write(`${JSON.stringify({ key: key.key.toString('hex'), made })}\n`)
})
