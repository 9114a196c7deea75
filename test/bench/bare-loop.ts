import { createHttpClient } from '../../src/provider/http.ts'
import { FIRST_HUB_ID, refreshTokenOf } from './fleet-of-accounts.ts'

/** The reference of P5: nothing but the POSTs and the parsing of their answers. */
const [url = ''] = process.argv.slice(2)
const WARM_UP = Number(process.env.BENCH_WARM_UP ?? 20_000)
const COUNT = Number(process.env.BENCH_ACCOUNTS ?? 40_000)
const IN_FLIGHT = 50

const http = createHttpClient({ baseUrl: url, timeoutMs: 10_000, connections: IN_FLIGHT, maxAnswerBytes: 1e6 })
const body = new URLSearchParams({
  grant_type: 'refresh_token',
  refresh_token: refreshTokenOf(FIRST_HUB_ID),
  client_id: 'bench',
  client_secret: 'bench',
}).toString()

async function loop(count: number): Promise<void> {
  let left = count
  const lane = async () => {
    while (left-- > 0) {
      const { body: answer } = await http.send({
        method: 'POST',
        path: '/oauth/v1/token',
        headers: { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' },
        body,
      })
      JSON.parse(answer.toString('utf8'))
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane))
}

await loop(WARM_UP)
const before = process.cpuUsage()
await loop(COUNT)
const { user, system } = process.cpuUsage(before)
console.log(COUNT / ((user + system) / 1e6))
process.exit()
