// Keeps what a page shows up to date without loading it again: asks for the same address now and then, and changes what changed in
// the parts that are marked with data-live. Without it the page reads as well, and is as old as it is.
;(() => {
  const EVERY_MS = 10_000
  const PATIENCE_MS = 8_000
  const NAME = 'data-live'

  /** A button copies the field, or the link, that it names; both work without it. Live parts change their buttons: one listener for all. */
  document.addEventListener('click', async ({ target }) => {
    const button = target.closest('button[data-copy]')
    if (button === null) return
    const field = document.getElementById(button.dataset.copy)
    field.select?.()
    await navigator.clipboard.writeText(field.value ?? field.href).catch(() => document.execCommand('copy'))
    button.textContent = 'Copied'
  })

  const DAY = { day: 'numeric', month: 'short' }
  const TIME = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }

  /** Times in the reader's zone: short, and in full on pointing at them. A title is there where the text is a distance. */
  function showTimes(page) {
    const today = new Date().toDateString()
    for (const time of page.querySelectorAll('time[datetime]')) {
      const at = new Date(time.dateTime)
      if (!time.title) {
        const isOld = Math.abs(Date.now() - at) > 300 * 86_400_000
        const format = isOld ? { ...DAY, year: 'numeric' } : at.toDateString() === today ? TIME : { ...DAY, ...TIME }
        time.textContent = at.toLocaleString('en-GB', format)
      }
      time.title = at.toLocaleString('sv-SE', { timeZoneName: 'short' })
    }
    const zone = page.querySelector('[data-zone]')
    if (zone !== null) zone.textContent = `Times are in ${Intl.DateTimeFormat().resolvedOptions().timeZone}`
  }
  showTimes(document)

  async function pageIn(answer) {
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
    showTimes(page)
    return page
  }

  /** A form that is checked as it is filled in: its server counts what it matches. */
  document.addEventListener('change', async ({ target }) => {
    const form = target.closest('form[data-check]')
    if (form === null) return
    if (target.name === 'name')
      target.closest('div').querySelector('[name=value]').setAttribute('list', `values-${target.value}`)
    const body = new URLSearchParams(new FormData(form))
    body.set('do', 'check')
    const answer = await fetch(form.action, { method: 'POST', body }).catch(() => undefined)
    const next = answer?.ok && (await pageIn(answer)).querySelector('[data-checked]')
    if (next) form.querySelector('[data-checked]').textContent = next.textContent
  })

  const regions = [...document.querySelectorAll(`[${NAME}]`)]
  if (regions.length === 0) return

  let upToDateAt = new Date()
  let timer
  let isAsking = false

  async function update() {
    if (isAsking) return
    isAsking = true
    try {
      show(await ask())
      upToDateAt = new Date()
      tell('')
    } catch {
      const at = upToDateAt.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
      tell(`Not up to date since ${at}.`)
    }
    isAsking = false
    schedule()
  }

  async function ask() {
    const answer = await fetch(location.href, { signal: AbortSignal.timeout(PATIENCE_MS) })
    // A page to sign in at is another page.
    if (!answer.ok || answer.redirected) throw new Error(String(answer.status))
    return pageIn(answer)
  }

  function show(fresh) {
    for (const region of regions) {
      const next = fresh.querySelector(`[${NAME}="${CSS.escape(region.getAttribute(NAME))}"]`)
      if (next === null || isSelected(region)) continue
      const link = focusedLink(region)
      change(region, next)
      keepFocus(region, link)
    }
  }

  /** Makes one part of the page what it is to be. What stays is left alone: it may be opened, scrolled or focused. */
  function change(old, next) {
    if (old.isEqualNode(next)) return
    if (old.nodeName !== next.nodeName || old.id !== next.id) return old.replaceWith(document.importNode(next, true))
    if (old.nodeType !== Node.ELEMENT_NODE) {
      old.nodeValue = next.nodeValue
      return
    }
    if (old.nodeName === 'FORM' && isInUse(old)) return
    changeAttributes(old, next)
    const [before, after] = [[...old.childNodes], [...next.childNodes]]
    for (const [n, child] of after.entries()) {
      if (before[n] === undefined) old.append(document.importNode(child, true))
      else change(before[n], child)
    }
    for (const child of before.slice(after.length)) child.remove()
  }

  function changeAttributes(old, next) {
    // A reader has opened it.
    const isTheReaders = (name) => old.nodeName === 'DETAILS' && name === 'open'
    for (const { name } of [...old.attributes]) {
      if (!next.hasAttribute(name) && !isTheReaders(name)) old.removeAttribute(name)
    }
    for (const { name, value } of next.attributes) {
      if (old.getAttribute(name) !== value && !isTheReaders(name)) old.setAttribute(name, value)
    }
  }

  /** A reader is typing in it, or has. */
  function isInUse(form) {
    const isField = (element) => element.matches('input, select, textarea')
    if (form.contains(document.activeElement) && isField(document.activeElement)) return true
    return [...form.elements].some(
      (field) =>
        field.checked !== field.defaultChecked ||
        (isField(field) && field.options === undefined && field.value !== field.defaultValue) ||
        [...(field.options ?? [])].some((option) => option.selected !== option.defaultSelected && field.value !== ''),
    )
  }

  /** Text that a reader is about to copy. */
  function isSelected(region) {
    const selection = getSelection()
    return selection !== null && !selection.isCollapsed && region.contains(selection.anchorNode)
  }

  function focusedLink(region) {
    const focused = document.activeElement
    return focused !== null && region.contains(focused) ? focused.getAttribute('href') : null
  }

  /** On the same link as before, wherever it is now: Enter must not lead elsewhere because a row came in between. */
  function keepFocus(region, href) {
    if (href === null || document.activeElement?.getAttribute('href') === href) return
    const link = [...region.querySelectorAll('a[href]')].find((other) => other.getAttribute('href') === href)
    if (link !== undefined) link.focus({ preventScroll: true })
    else document.activeElement?.blur()
  }

  function tell(text) {
    let note = document.querySelector('.live-note')
    if (note === null && text === '') return
    if (note === null) {
      note = document.createElement('p')
      note.className = 'live-note verdict warning'
      note.setAttribute('role', 'status')
      document.querySelector('main').prepend(note)
    }
    note.hidden = text === ''
    if (note.textContent !== text) note.textContent = text
  }

  function schedule() {
    clearTimeout(timer)
    if (document.visibilityState === 'visible') timer = setTimeout(update, EVERY_MS)
  }

  document.addEventListener('visibilitychange', () => {
    clearTimeout(timer)
    if (document.visibilityState === 'visible') void update()
  })
  schedule()
})()
