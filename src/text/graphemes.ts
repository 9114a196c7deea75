let segmenter: Intl.Segmenter | undefined

/** Letters as people see them: an emoji or an accented letter is one. Made where it is needed: `Intl` takes long to begin. */
export function* graphemes(text: string): Generator<string> {
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' })
  for (const { segment } of segmenter.segment(text)) yield segment
}
