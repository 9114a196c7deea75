/** Runs in the page: what a reader gets to see of it. Contrast by the formula of WCAG 2. */
;(() => {
  const channels = (colour) => (colour.match(/[\d.]+/g) ?? []).map(Number)

  const luminance = (colour) => {
    const [red, green, blue] = channels(colour).map((channel) => {
      const share = channel / 255
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }

  const behind = (element) => {
    for (let at = element; at !== null; at = at.parentElement) {
      const { backgroundColor } = getComputedStyle(at)
      if (channels(backgroundColor)[3] !== 0) return backgroundColor
    }
    return 'rgb(255, 255, 255)'
  }

  const contrast = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b)
    return (light + 0.05) / (dark + 0.05)
  }

  const texts = []
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement
    const { color, fontSize } = getComputedStyle(element)
    if (node.textContent.trim() === '' || fontSize === '0px') continue
    const range = document.createRange()
    range.selectNodeContents(node)
    const { left, right, height } = range.getBoundingClientRect()
    texts.push({
      text: node.textContent.trim(),
      contrast: contrast(color, behind(element)),
      size: Number.parseFloat(fontSize),
      left,
      right,
      height,
    })
  }

  const bars = [...document.querySelectorAll('[role=img]')].map((bar) => ({
    says: bar.getAttribute('aria-label'),
    width: bar.getBoundingClientRect().width,
    parts: [...bar.querySelectorAll('td')].map((part) => ({
      width: part.getBoundingClientRect().width,
      height: part.getBoundingClientRect().height,
      contrast: contrast(getComputedStyle(part).backgroundColor, behind(bar)),
    })),
  }))

  return {
    width: document.documentElement.clientWidth,
    height: document.documentElement.scrollHeight,
    scrollWidth: document.documentElement.scrollWidth,
    background: behind(document.querySelector('.card')),
    texts,
    bars,
    links: [...document.querySelectorAll('a')].map(({ href, offsetHeight }) => ({ href, height: offsetHeight })),
    tags: [...new Set([...document.querySelectorAll('*')].map(({ localName }) => localName))].sort(),
  }
})()
