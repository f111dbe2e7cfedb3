/** Address of the service, which writes its base path into the page. */
export const base = new URL(document.documentElement.dataset.base ?? '/', location.href);

/** Returns the name of an entry in the browser's storage. Another installation on the same host has other entries. */
export const storageKey = (name: string): string => `atrium-${name}${base.pathname.replace(/\/$/, '')}`;
