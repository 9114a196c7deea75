// The read-out of a chart, under the pointer and by keyboard: a slider over the plot that stops at each number of the chart's
// table. Without it the numbers are in the table.
;(() => {
  for (const [n, figure] of [...document.querySelectorAll('figure:has(.plot)')].entries()) addReadOut(figure, n)

  function addReadOut(figure, n) {
    const stops = [...figure.querySelectorAll('[data-x]')].map(stopOf).reverse()
    if (stops.length === 0) return
    const chart = figure.querySelector('.chart')
    const plot = chart.querySelector('.plot')
    const slider = make('input', {
      type: 'range',
      min: 0,
      max: stops.length - 1,
      value: stops.length - 1,
      id: `read-${n}`,
    })
    const label = make('label', { class: 'unseen', for: slider.id })
    label.textContent = `Read ${plot.querySelector('title').textContent}`
    const cursor = make('div', { class: 'cursor' })
    const text = make('output', { class: 'readout', for: slider.id })
    const over = make('div', { class: 'over' })
    over.append(label, slider, cursor, text)
    chart.append(over)

    const show = (at) => {
      const { x, says } = stops[at]
      slider.value = at
      slider.setAttribute('aria-valuetext', says)
      text.textContent = says
      cursor.style.left = `${x / 10}%`
      // Beside the cursor, on the side with room.
      text.classList.toggle('left', x > 500)
      text.style.left = cursor.style.left
      over.classList.add('read')
    }
    const hide = () => over.classList.remove('read')
    slider.addEventListener('input', () => show(Number(slider.value)))
    slider.addEventListener('focus', () => show(Number(slider.value)))
    slider.addEventListener('blur', hide)
    over.addEventListener('pointermove', ({ clientX }) => {
      const { left, width } = over.getBoundingClientRect()
      const x = ((clientX - left) / width) * 1000
      show(
        Math.max(
          0,
          stops.findLastIndex((stop) => stop.x <= x),
        ),
      )
    })
    over.addEventListener('pointerleave', () => {
      if (document.activeElement !== slider) hide()
    })
  }

  function stopOf(moment) {
    const [at, usage, limit] = [...moment.closest('tr').cells].map((cell) => cell.textContent.trim())
    const unit = moment.closest('figure').querySelector('.chart').dataset.unit
    const amount = usage === 'nothing read' ? usage : `${usage}${limit === 'none' ? '' : ` of ${limit}`} ${unit}`
    return { x: Number(moment.dataset.x), says: `${amount}, ${at}` }
  }

  function make(name, attributes) {
    const element = document.createElement(name)
    for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value)
    return element
  }
})()

// A button copies the field, or the link, that it names; both work without it. Live parts change their buttons: one listener for all.
document.addEventListener('click', async ({ target }) => {
  const button = target.closest('button[data-copy]')
  if (button === null) return
  const field = document.getElementById(button.dataset.copy)
  field.select?.()
  await navigator.clipboard.writeText(field.value ?? field.href).catch(() => document.execCommand('copy'))
  button.textContent = 'Copied'
})
