import { OPERATIONS } from '../../operations/all-operations.ts'
import { type Field, fieldsOf, sentence } from '../../operations/fields.ts'
import type { Operation } from '../../operations/operation.ts'
import { html } from '../../text/html.ts'
import type { ShowPage } from './page.ts'
import { htmlTable } from './parts/tables.ts'

/** The API for readers, made of the same operations as its OpenAPI document. */
export const showApi: ShowPage = async ({ publicUrl }) => {
  const byTag = Map.groupBy(OPERATIONS, ({ path }) => path.split('/')[1] ?? '')
  const tags = [...byTag.keys()].sort()
  const body = html`<p>The guide is <code>config/guide/README.md</code> in the package. Programs read <a href="/api/v1/openapi.json">openapi.json</a>.</p>
<p>All addresses begin with <code>${publicUrl}/api/v1</code> and need an admin token: <code>Authorization: Bearer TOKEN</code>.</p>
<p class="chips">${tags.map((tag) => html`<a href="#${tag}">${tag}</a>`)}</p>
${tags.map((tag) => html`<h2 id="${tag}">${tag}</h2>\n${htmlTable(tag, ['Request', 'What', 'Scope', 'Fields'], (byTag.get(tag) ?? []).map(rowOf))}\n`)}`
  return { title: 'API', body }
}

function rowOf({ method, path, summary, scope, input }: Operation) {
  const fields = fieldsOf(input)
  return [
    html`<code class="whole">${method} ${path}</code>`,
    sentence(summary),
    scope,
    fields.length === 0
      ? ''
      : html`<details><summary>${fields.length}</summary><dl>${fields.map(fieldOf)}</dl></details>`,
  ]
}

function fieldOf({ name, description, isRequired, choices = [] }: Field) {
  return html`<dt><code>${name}</code>${isRequired ? ', required' : ''}</dt><dd>${sentence(description)}${choices.length === 0 ? '' : ` One of: ${choices.join(', ')}.`}</dd>`
}
