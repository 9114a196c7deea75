import { CommandError, type Io } from './io.ts'
import { typedLines } from './typed-lines.ts'

/** The question before a command destroys, and the words that answer it. */
interface Confirmation {
  question: string
  answer: string
}

/** Asks where a person types, unless `--yes` was given. Scripts are not asked. */
export async function confirm(io: Io, yes: boolean | undefined, { question, answer }: Confirmation): Promise<void> {
  if (yes === true || !io.inIsTerminal) return
  io.err(`${question}\nType ${answer} to go on: `)
  const typed = await typedLines(io)()
  if (typed?.toLowerCase() === answer.toLowerCase()) return
  throw new CommandError('not confirmed, nothing was changed: --yes skips the question')
}
