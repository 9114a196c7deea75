import { CommandError, type Io } from './io.ts'

/** The question before a command destroys, and the words that answer it. */
interface Confirmation {
  question: string
  answer: string
}

/** Asks where a person types, unless `--yes` was given. Scripts are not asked. */
export async function confirm(io: Io, yes: boolean | undefined, { question, answer }: Confirmation): Promise<void> {
  if (yes === true || !io.inIsTerminal) return
  io.err(`${question}\nType ${answer} to go on: `)
  const typed = await firstLine(io)
  if (typed.toLowerCase() === answer.toLowerCase()) return
  throw new CommandError('not confirmed, nothing was changed: --yes goes on without a question')
}

/** Empty where the input ended, or where a signal ends the command. */
async function firstLine({ stdin, stop }: Io): Promise<string> {
  const stopped = new Promise<string>((resolve) => stop.addEventListener('abort', () => resolve(''), { once: true }))
  const read = async () => {
    let text = ''
    for await (const chunk of stdin()) {
      text += chunk.toString('utf8')
      if (text.includes('\n')) break
    }
    return text.split('\n')[0]?.trim() ?? ''
  }
  return Promise.race([stopped, read()])
}
