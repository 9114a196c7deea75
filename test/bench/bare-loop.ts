import { createHttpClient, type HttpRequest } from '../../src/provider/http.ts'
import { accessTokenOf, FIRST_HUB_ID, refreshTokenOf } from '../support/many-accounts.ts'
import { inLanes, readOrders, serveLots } from './reference.ts'
import { isToBeRefreshed, PATHS } from './side.ts'

/** The reference of P1, P2, P4 and P5: the same requests by the same HTTP layer, their answers parsed, and nothing else. */
const orders = readOrders()
const http = createHttpClient({
  baseUrl: orders.providerUrl,
  timeoutMs: 60_000,
  connections: orders.inFlight,
  maxAnswerBytes: 1e6,
})
const FORM = { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' }

await serveLots(() => inLanes(orders, cycle))

async function cycle(place: number): Promise<void> {
  const hubId = FIRST_HUB_ID + place
  const token = isToBeRefreshed(place, orders.refreshShare) ? await refresh(hubId) : accessTokenOf(hubId)
  if (!orders.polls) return
  for (const path of PATHS) await get(token, `/crm/limits/2026-03/${path}`)
}

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
