/** The least that WCAG asks of text: the lighter of two colors against the darker one. */
const READABLE = 4.5
const STEPS = 32

/** A color `#rrggbb` where text in it is readable on the background, else its nearest shade that is. */
export function readableOn(color: string, background: string): string {
  const to = luminance(background) > 0.18 ? 0 : 255
  for (let step = 0; step < STEPS; step++) {
    const shade = mixed(color, to, step / STEPS)
    if (contrast(shade, background) >= READABLE) return shade
  }
  return mixed(color, to, 1)
}

export function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}

function mixed(color: string, to: number, part: number): string {
  const channels = channelsOf(color).map((channel) => Math.round(channel + (to - channel) * part))
  return `#${channels.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`
}

/** Luminance as the eye weighs the channels (WCAG 2.2, relative luminance). */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = channelsOf(color).map((channel) => {
    const share = channel / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function channelsOf(color: string): number[] {
  return [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16))
}
