import { bringUpToDate } from '../../src/app/upgrade.ts'
import { connectRedis } from '../../src/redis/connect.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/runtime/logger.ts'
import { Secret } from '../../src/runtime/secret.ts'

/** A daemon that is killed while it brings data up to date. */
const [url = '', prefix = ''] = process.argv.slice(2)
const store = connectRedis({ kind: 'url', url: new Secret(url) }, 'steps', () => {})
const log = createLogger({ level: 'error', pretty: false }, process.stdout)
await bringUpToDate({ store, keys: createKeys(prefix), clock: systemClock, log })
store.disconnect()
