/** What shows the jobs of the queues, for the server: its files, its settings, and its reads. */
export interface QueueBoardRoutes {
  /** The page as it comes with the package. */
  page: string
  /** A folder of scripts, styles and pictures. */
  files: string
  config(): Promise<object>
  reads: readonly {
    /** Below the board's own address. */
    path: string
    answer(params: Record<string, string>, query: Record<string, string>): Promise<{ status: number; body: unknown }>
  }[]
}

/** Where it is. */
export const BOARD_PATH = '/queues/board'

/**
 * Its page without what our policy would have to allow for it: fonts from elsewhere, a style and styled elements that only
 * fill the moment until its scripts run. Of the template as it comes only the names of its files are taken.
 */
export function boardPage(template: string, config: object): string {
  const styles = [...template.matchAll(/<link href="(static\/[\w./-]+\.css)" rel="stylesheet">/g)]
  const scripts = [...template.matchAll(/<script defer src="(static\/[\w./-]+\.js)"><\/script>/g)]
  if (styles.length === 0 || scripts.length === 0) throw new Error('the page of the queue board is not as it was')
  const json = JSON.stringify(config).replaceAll('<', '\\u003c')
  return `<!doctype html>
<html lang="en" dir="ltr">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<base href="${BOARD_PATH}/">
<title>Queues · Plimsoll</title>
<link rel="icon" href="/assets/mark.svg" type="image/svg+xml">
${styles.map(([, path]) => `<link rel="stylesheet" href="${path}">`).join('\n')}
</head>
<body>
<script id="__UI_CONFIG__" type="application/json">${json}</script>
<div id="root"><noscript>This view of the jobs needs JavaScript. <a href="/queues">The number of jobs in each queue</a> does not.</noscript></div>
${scripts.map(([, path]) => `<script defer src="${path}"></script>`).join('\n')}
</body>
</html>
`
}
