/** Lets the few libraries that make style elements do so under the page's strict policy. */
export const nonce =
  document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? "";
