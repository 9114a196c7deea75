import { storeForecasts } from '../../../src/limits/forecast/forecast-account.ts'
import type { Samples } from '../../../src/limits/samples.ts'
import { pollAccount } from '../../limits/history/poll-account.ts'
import { associations, properties, readings } from '../../limits/reports.ts'
import type { openServer } from '../open-server.ts'

const HOUR = 3_600_000
const DAYS = 30
const LABELS = ['Contacts', 'Companies', 'Deals', 'Tickets', 'Products', 'Line items', 'Quotes', 'Calls', 'Leads']
const PAIRS = ['0-1/0-2', '0-1/0-3', '0-2/0-3', '2-9/0-1']

type Server = Awaited<ReturnType<typeof openServer>>

/**
 * An account with 25 object types and four pairs, read every four hours for 30 days, told through the polls' own step: one
 * grows into a warning, one's limit was raised, one is full, for two days nothing was read.
 */
export async function connectRichAccount(server: Server, hubId: number): Promise<void> {
  const { clock, poll, connectAccount, steps, keys } = server
  const shown: Samples = {}
  for (const pair of PAIRS) {
    shown[pair] = {
      at: clock.now(),
      atLimit: Array.from({ length: 10 }, (_, n) => ({ objectId: 101 + n, label: `ACME Holding ${n}` })),
      nearLimit: [],
    }
  }
  await connectAccount({ hubId, hubDomain: 'northwind-traders.example.com', user: 'ada@northwind-traders.example.com' })
  for (let hour = 0; hour <= DAYS * 24; hour += 4) {
    clock.move(hour === 0 ? 0 : 4 * HOUR)
    if (hour > 14 * 24 && hour < 16 * 24) continue
    const read = readAfter(hour, clock.now())
    await pollAccount(steps, keys, hubId, clock.now(), read, 9 * HOUR)
  }
  clock.move(60_000)
  await poll(hubId, readAfter(DAYS * 24, clock.now()), {}, shown)
  await server.connectAccount({ hubId, hubDomain: 'northwind-traders.example.com' })
  const rising = { overall: pace(8, 6, 11), 'type/0-1': pace(2, 1, 3) }
  await storeForecasts(server.steps, server.keys, hubId, { at: clock.now(), rising, tooFew: {} })
}

function pace(perDay: number, perDayLow: number, perDayHigh: number) {
  return { perDay, perDayLow, perDayHigh, scatter: 0, shareHigh: 0 }
}

function readAfter(hour: number, at: number) {
  const days = hour / 24
  const types = Object.fromEntries(
    Array.from({ length: 25 }, (_, n): [string, [number, number]] => [
      n < LABELS.length ? `0-${n + 1}` : `2-${n}`,
      typeUsage(n, days),
    ]),
  )
  const report = properties(720 + Math.floor(days * 8), 1_000, types)
  const named = report.byObjectType.map((type, n) => ({ ...type, pluralLabel: LABELS[n] ?? `Custom object ${n}` }))
  const fullest = Math.floor(8_000 + 60 * days)
  const [first = '', second = '', ...others] = PAIRS
  return readings(
    at,
    { ...report, byObjectType: named },
    {
      [first]: associations(10_000, days > 5 ? [fullest] : [], days > 20 ? 12 : 0),
      [second]: associations(500, [450]),
      ...Object.fromEntries(others.map((pair) => [pair, associations(50)])),
    },
  )
}

function typeUsage(n: number, days: number): [number, number] {
  if (n === 0) return [Math.min(500, 395 + Math.floor(days * 2.5)), 500]
  // Its limit was raised.
  if (n === 1) return [430 + Math.floor(days), days > 18 ? 600 : 450]
  if (n === 2) return [50, 50]
  return [Math.floor((5 + 7 * n + days * (n % 4)) % 300), 500]
}
