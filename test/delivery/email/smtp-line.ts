import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Listener {
  port: number
  /** What clients sent, line by line. */
  heard: string[]
  close: () => Promise<void>
}

async function listen(talk: (socket: Socket, heard: string[]) => void): Promise<Listener> {
  const sockets = new Set<Socket>()
  const heard: string[] = []
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    talk(socket, heard)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    heard,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((done) => server.close(done))
    },
  }
}

export type Stage = 'greeting' | 'EHLO' | 'AUTH' | 'MAIL' | 'RCPT' | 'DATA' | 'message'

const FINE: Record<Stage, string> = {
  greeting: '220 ready',
  EHLO: '250-mail.example.com\r\n250 AUTH PLAIN',
  AUTH: '235 welcome',
  MAIL: '250 ok',
  RCPT: '250 ok',
  DATA: '354 go on',
  message: '250 taken',
}

/** A mail server that says yes to everything until it comes to one stage, where it does something else. */
export function startSmtpLine(stage: Stage, then: 'closes' | 'is silent' | { says: string }): Promise<Listener> {
  return listen((socket, heard) => {
    const at = (reached: Stage) => {
      if (reached !== stage) socket.write(`${FINE[reached]}\r\n`)
      else if (then === 'closes') socket.destroy()
      else if (then !== 'is silent') socket.write(`${then.says}\r\n`)
    }
    let inMessage = false
    let rest = ''
    socket.on('data', (data) => {
      const lines = (rest + data.toString('latin1')).split('\r\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        heard.push(line)
        if (inMessage && line !== '.') continue
        const command = inMessage ? 'message' : stageOf(line)
        if (command !== undefined) at(command)
        inMessage = command === 'DATA' && (stage !== 'DATA' || typeof then === 'string')
      }
    })
    at('greeting')
  })
}

function stageOf(line: string): Stage | undefined {
  const [word = ''] = line.replace(/^HELO/, 'EHLO').split(' ')
  return (['EHLO', 'AUTH', 'MAIL', 'RCPT', 'DATA'] as const).find((stage) => stage === word)
}

/** Somebody between client and server who takes the offer of encryption out of what the server says, and refuses it himself. */
export function startStripper(port: number): Promise<Listener> {
  return listen((socket, heard) => {
    const upstream = connect(port, '127.0.0.1')
    upstream.on('error', () => socket.destroy())
    socket.on('close', () => upstream.destroy())
    upstream.on('close', () => socket.destroy())
    upstream.on('data', (data) => {
      socket.write(data.toString('latin1').replace('250-STARTTLS\r\n', '').replace('250 STARTTLS\r\n', '250 HELP\r\n'))
    })
    socket.on('data', (data) => {
      const text = data.toString('latin1')
      heard.push(...text.split('\r\n').filter((line) => line !== ''))
      if (/^STARTTLS/i.test(text)) socket.write('454 4.7.0 not now\r\n')
      else upstream.write(data)
    })
  })
}
