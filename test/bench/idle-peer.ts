import { createServer } from 'node:http'
import { Worker } from 'bullmq'
import { Redis } from 'ioredis'

/** The reference of P10: one queue where nothing comes, one port that answers. */
const [redisUrl = ''] = process.argv.slice(2)
const connection = new Redis(redisUrl, { maxRetriesPerRequest: null, replyMapping: 'legacy' })
new Worker('idle', async () => {}, { connection, prefix: 'peer' })
createServer((_request, response) => response.end('ok')).listen(0, '127.0.0.1', () => console.log('ready'))
process.stdin.on('close', () => process.exit()).resume()
