/** Share of the limit that is used; undefined where it is not known. */
export function percentOf({
  percent,
  usage,
  limit,
}: {
  percent?: number
  usage?: number
  limit?: number
}): number | undefined {
  if (percent !== undefined) return percent
  return usage === undefined || limit === undefined || limit <= 0 ? undefined : (usage / limit) * 100
}
