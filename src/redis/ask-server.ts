import { connect } from 'node:net'

/**
 * Presence of a server on a socket. `absent`: no process listens there. `unwell`: one does, and it can't be used now.
 * `isUnwritten`: it can't write to its disk, and can be read.
 */
export type Presence = { is: 'absent' } | { is: 'answers'; isUnwritten: boolean } | { is: 'unwell'; why: string }

/** Errors of the kernel where no process listens. After any other error one may. */
const NO_LISTENER = ['ECONNREFUSED', 'ENOENT', 'ENOTSOCK']

/** A large file takes its time, however long. */
export const LOADS = 'it still loads its file'

export async function askServer(socket: string, withinMs: number): Promise<Presence> {
  try {
    const line = await sendLine(socket, 'PING', withinMs)
    if (line === '+PONG') return { is: 'answers', isUnwritten: false }
    if (line.startsWith('-MISCONF ')) return { is: 'answers', isUnwritten: true }
    if (line.startsWith('-LOADING ')) return { is: 'unwell', why: LOADS }
    return { is: 'unwell', why: line === '' ? 'it closed the connection' : `it answers ${line.slice(0, 200)}` }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (NO_LISTENER.includes(code ?? '')) return { is: 'absent' }
    return { is: 'unwell', why: code === undefined ? message : `it accepts no connection (${code})` }
  }
}

/** Returns the first line of the answer, empty where the connection ends without one, as after SHUTDOWN. */
export function sendLine(socket: string, command: string, withinMs: number): Promise<string> {
  return new Promise<string>((resolve, reject) => {
    const connection = connect(socket)
    const timer = setTimeout(() => connection.destroy(new Error('it does not answer')), withinMs)
    let answer = ''
    connection.on('data', (data) => {
      answer += data.toString()
      if (answer.includes('\r\n')) connection.destroy()
    })
    connection.on('error', reject)
    connection.on('close', () => {
      clearTimeout(timer)
      resolve(answer.split('\r\n')[0] ?? '')
    })
    connection.write(`${command}\r\n`)
  })
}
