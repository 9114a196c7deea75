import { connect } from 'node:net'

/**
 * Presence of a server on a socket. `absent`: no process listens there. `unwell`: one does, and it can't be used now.
 */
export type Presence = { is: 'absent' } | { is: 'answers' } | { is: 'unwell'; why: string }

/** Errors of the kernel where no process listens. After any other error one may. */
const NO_LISTENER = ['ECONNREFUSED', 'ENOENT', 'ENOTSOCK']

/** Pings it. A server whose disk is full answers with an error, and can be read. */
export function askServer(socket: string, withinMs: number): Promise<Presence> {
  return new Promise((resolve) => {
    const connection = connect(socket)
    const end = (presence: Presence) => {
      connection.destroy()
      clearTimeout(timer)
      resolve(presence)
    }
    const unwell = (why: string) => end({ is: 'unwell', why })
    const timer = setTimeout(() => unwell('it does not answer'), withinMs)
    connection.on('error', ({ code = '' }: NodeJS.ErrnoException) =>
      NO_LISTENER.includes(code) ? end({ is: 'absent' }) : unwell(`it accepts no connection (${code})`),
    )
    connection.on('end', () => unwell('it closed the connection'))
    let greeting = ''
    connection.on('data', (data) => {
      greeting += data.toString()
      if (!greeting.includes('\r\n')) return
      const why = judgeAnswer(greeting.slice(0, greeting.indexOf('\r\n')))
      if (why === undefined) end({ is: 'answers' })
      else unwell(why)
    })
    connection.write('PING\r\n')
  })
}

/** Why a server that answers so to PING can't be used now. */
function judgeAnswer(line: string): string | undefined {
  if (/^(\+PONG|-MISCONF )/.test(line)) return undefined
  if (line.startsWith('-LOADING ')) return LOADS
  return `it answers ${line.slice(0, 200)}`
}

/** A large file takes its time, however long. */
export const LOADS = 'it still loads its file'
