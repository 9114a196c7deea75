import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { text } from 'node:stream/consumers'
import { tellCount, tlsOfFarSides, urlOf } from './far-side.ts'

/** The least a token endpoint can be: for everybody the refresh token that came, and one access token of a real one's size. */
const accessToken = 'A'.repeat(400)
let refreshes = 0

const serve: RequestListener = async (request, response) => {
  const [, token] = /refresh_token=(na1-[^&]*)/.exec(await text(request)) ?? []
  const answer = { token_type: 'bearer', refresh_token: token, access_token: accessToken, expires_in: 1_800 }
  const body = JSON.stringify(answer)
  if (token !== undefined) refreshes++
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body)
}
const server = tlsOfFarSides === undefined ? createServer(serve) : createTlsServer(tlsOfFarSides, serve)
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => console.log(urlOf(server)))
tellCount(() => ({ refreshes, polls: 0 }))
