import { type Html, html } from '../../../text/html.ts'
import { plainPage } from '../page.ts'

/** `next` is where it leads to; `complaint` is why the last attempt did not. */
export function signInPage(next: string, complaint?: string): Html {
  return plainPage({
    title: 'Sign in',
    body: html`${complaint === undefined ? undefined : html`<p class="verdict critical" role="alert">${complaint}</p>`}
<form method="post" action="/sign-in" class="sign-in">
<input type="hidden" name="next" value="${next}">
<label>Admin token <input type="password" name="token" required autofocus autocomplete="current-password"></label>
<button>Sign in</button>
</form>
<p class="soft">It is <code>http.adminToken</code> in the configuration of this server; where that names none, it is in the file <code>admin-token</code> in the server's data folder. One with the scope <code>read</code> from <code>plimsoll admin-tokens add</code> does, too.</p>`,
  })
}
