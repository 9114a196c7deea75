import type { Matcher, Silence } from './silence.ts'

/** What somebody asks for; texts as they were written. */
export interface SilenceRequest {
  matchers: readonly Matcher[]
  author: string
  comment: string
  /** ms */
  endsAt: number
}

export type NewSilence =
  | { ok: true; silence: Omit<Silence, 'id'> }
  | { ok: false; what: 'matchers' | 'author' | 'comment' | 'endsAt'; fault: string }

/** A silence that is longer than this was meant to be for ever: a rule that is off says that better. */
const LONGEST_DAYS = 366
const LONGEST_COMMENT = 500
const LONGEST_AUTHOR = 100
const MOST_MATCHERS = 100

export function newSilence(request: SilenceRequest, now: number): NewSilence {
  const [author, comment] = [request.author.trim(), request.comment.trim()]
  const { matchers, endsAt } = request
  if (matchers.length === 0) return no('matchers', 'at least one is needed; kind=* stands for all alerts')
  if (matchers.length > MOST_MATCHERS) return no('matchers', `at most ${MOST_MATCHERS} are possible`)
  if (author === '') return no('author', 'must not be empty')
  if (author.length > LONGEST_AUTHOR) return no('author', `is longer than ${LONGEST_AUTHOR} characters`)
  if (comment === '') return no('comment', 'must not be empty: say why')
  if (comment.length > LONGEST_COMMENT) return no('comment', `is longer than ${LONGEST_COMMENT} characters`)
  if (endsAt <= now) return no('endsAt', 'lies in the past')
  if (endsAt > now + LONGEST_DAYS * 86_400_000) {
    return no('endsAt', `is more than ${LONGEST_DAYS} days away: for good there is a rule with off: true`)
  }
  return { ok: true, silence: { matchers, author, comment, createdAt: now, endsAt } }
}

function no(what: Extract<NewSilence, { ok: false }>['what'], fault: string): NewSilence {
  return { ok: false, what, fault }
}
