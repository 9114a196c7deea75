import type { AssociationReport, CustomPropertyReport } from '../../provider/answers.ts'
import type { Unread } from '../../provider/unread.ts'
import { answerFingerprints, groupOfPair, PROPERTIES } from '../seen.ts'

/** An account's reports, some of them read. */
export interface SomeReports {
  /** Which of them were read, see `Seen`. */
  groups: readonly number[]
  /** All that there are, in the order in which they are asked for. */
  pairs: readonly string[]
  customProperties: CustomPropertyReport | undefined
  associations: ReadonlyMap<string, AssociationReport>
}

/** All reports that a poll asked for as they came: whoever knows some of them by their bytes need not read those. */
export class UnreadReports {
  /** By group, see `Seen`. */
  readonly fingerprints: readonly string[]
  readonly #customProperties: Unread<CustomPropertyReport>
  readonly #associations: ReadonlyMap<string, Unread<AssociationReport>>

  /** `associations` in the order in which they are asked for. */
  constructor(
    customProperties: Unread<CustomPropertyReport>,
    associations: ReadonlyMap<string, Unread<AssociationReport>>,
  ) {
    this.#customProperties = customProperties
    this.#associations = associations
    const pairs = Array.from(associations.values(), ({ body }) => body)
    this.fingerprints = answerFingerprints(customProperties.body, pairs)
  }

  /**
   * Those of some groups. Undefined where one of these can't be read, or in part only: whoever reads all
   * can tell of it.
   */
  read(groups: readonly number[]): SomeReports | undefined {
    const associations = new Map<string, AssociationReport>()
    let place = 0
    try {
      for (const [pair, report] of this.#associations) {
        if (!groups.includes(groupOfPair(place++))) continue
        const read = report.read()
        if (read.gaps !== undefined) return undefined
        associations.set(pair, read)
      }
      const customProperties = groups.includes(PROPERTIES) ? this.#customProperties.read() : undefined
      if (customProperties?.gaps !== undefined) return undefined
      return { groups, pairs: [...this.#associations.keys()], customProperties, associations }
    } catch {
      return undefined
    }
  }
}
