import { openEmbeddedRedis } from '../../src/redis/embedded.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/runtime/logger.ts'

/** Another Plimsoll process on a data folder: opens its Redis, says so, closes it when its input ends. */
const [dataDir = ''] = process.argv.slice(2)
const log = createLogger({ level: 'silent', pretty: false })
const embedded = await openEmbeddedRedis(dataDir, systemClock, log)
process.stdout.write(`${embedded.socket}\n`)
process.stdin.resume()
process.stdin.on('end', async () => {
  await embedded.close()
  process.exit()
})
