import { createHttpClient, type HttpRequest } from '../../src/provider/http.ts'
import { accessTokenOf, refreshTokenOf } from './account-tokens.ts'
import { hubIdOf, isToBeRefreshed, readOrders, serveCycles } from './cycle-run.ts'

/** The reference of P1, P2 and P4: the requests of the cycle by the same HTTP layer, their answers parsed, and nothing else. */
const orders = readOrders()
const { refreshShare, inFlight } = orders
const http = createHttpClient({
  ...{ baseUrl: orders.providerUrl, timeoutMs: 10_000, connections: inFlight, maxAnswerBytes: 1e6 },
})
const LIMITS = '/crm/limits/2026-03'
const FORM = { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' }

await serveCycles(orders, async (place) => {
  const hubId = hubIdOf(place)
  const token = isToBeRefreshed(place, refreshShare) ? await refresh(hubId) : accessTokenOf(hubId)
  await get(token, `${LIMITS}/custom-properties`)
  await get(token, `${LIMITS}/associations/records/0-1/0-2`)
  await get(token, `${LIMITS}/associations/records/0-2/0-1`)
  await get(token, `${LIMITS}/associations/records/0-1/0-3`)
})
process.exit()

async function refresh(hubId: number): Promise<string> {
  const grant = `grant_type=refresh_token&refresh_token=${refreshTokenOf(hubId)}`
  const body = `${grant}&client_id=bench&client_secret=bench`
  const answer = await send({ method: 'POST', path: '/oauth/2026-03/token', headers: FORM, body })
  return (answer as { access_token: string }).access_token
}

function get(token: string, path: string): Promise<unknown> {
  return send({ method: 'GET', path, headers: { accept: 'application/json', authorization: `Bearer ${token}` } })
}

async function send(request: HttpRequest): Promise<unknown> {
  const { body } = await http.send(request)
  return JSON.parse(body.toString('utf8'))
}
