import { createServer } from 'node:http'

/** The least a token endpoint can be: one answer of a real one's size, for everybody. */
const answer = JSON.stringify({
  token_type: 'bearer',
  refresh_token: '6f18f21e-a743-4509-b7fd-1a5e632fffa1',
  access_token: 'A'.repeat(400),
  expires_in: 1800,
})
const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(answer) }

const server = createServer((request, response) => {
  request.resume()
  request.on('end', () => response.writeHead(200, headers).end(answer))
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object' && address !== null) console.log(`http://127.0.0.1:${address.port}`)
})
