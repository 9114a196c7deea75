import { connect } from 'node:net'

/** A process of its own: `flooder.ts URL CONNECTIONS METHOD:PATH...`. Floods until it is ended. */
const [url = '', connections = '', ...routes] = process.argv.slice(2)
const { hostname, port } = new URL(url)
/** Of four connections three ask as fast as they are answered, one sends a request that never ends. */
const SLOW = 4
const FIELDS = Array.from({ length: 15_000 }, (_, n) => n.toString(36)).join('&')

function requestOf(n: number): string {
  const [method = '', path = ''] = routes[n % routes.length]?.split(':') ?? []
  const query = FIELDS.slice(0, 8_000)
  const head = `${method} ${path}?${query} HTTP/1.1\r\nHost: x\r\nCookie: ${FIELDS.slice(0, 4_000).replaceAll('&', ';')}\r\n`
  if (method !== 'POST') return `${head}\r\n`
  // By turns the most that is taken, and far too much.
  const body = FIELDS.slice(0, n % 3 === 0 ? 60_000 : 4_000)
  return `${head}Content-Type: application/x-www-form-urlencoded\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}

const counts = { answers: 0, refused: 0, cutOff: 0 }

function flood(slot: number, n: number): void {
  const socket = connect(Number(port), hostname)
  socket.setNoDelay()
  const isSlow = slot % SLOW === 0
  let asked = n
  socket.on('connect', () => {
    if (!isSlow) return void socket.write(requestOf(asked))
    const text = requestOf(asked)
    let sent = 0
    const timer = setInterval(() => {
      socket.write(text.slice(sent, sent + 10))
      sent += 10
    }, 500)
    socket.on('close', () => clearInterval(timer))
  })
  socket.on('data', (data) => {
    const starts = data.toString('latin1').match(/HTTP\/1\.1 \d{3}/g) ?? []
    counts.answers += starts.length
    counts.refused += starts.filter((start) => start.endsWith('503')).length
    if (!isSlow && starts.length > 0) socket.write(requestOf(++asked))
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    counts.cutOff++
    setTimeout(() => flood(slot, asked + 1), 100)
  })
}

for (let slot = 0; slot < Number(connections); slot++) flood(slot, slot)
setInterval(() => process.send?.(counts), 500)
process.on('disconnect', () => process.exit())
