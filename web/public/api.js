/** Speaks to the backend. Addresses are relative to this file, so that the page works below any base path, and from a deep link. */

/** Where the backend is. */
export const base = new URL('./', import.meta.url).href;

/** Held here and nowhere else: not in storage, not in a cookie, not in an address. */
let token = '';

export const useToken = (text) => {
  token = text.trim();
};

export const hasToken = () => token !== '';

/** What the backend refused with: a Kubernetes Status. */
export class Refusal extends Error {
  constructor({ code, reason, message, details }) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.causes = details?.causes ?? [];
    this.retryAfterSeconds = details?.retryAfterSeconds;
  }
}

/**
 * @param {{ method?: string, body?: unknown, asSession?: boolean }} options `body` is sent as JSON, URLSearchParams as a form;
 *   `asSession` leaves out a pasted token, which goes before the session otherwise
 */
export async function ask(path, { method = 'GET', body, asSession = false } = {}) {
  const isForm = body instanceof URLSearchParams;
  const headers = new Headers();
  if (token !== '' && !asSession) headers.set('Authorization', `Bearer ${token}`);
  if (body !== undefined && !isForm) headers.set('Content-Type', 'application/json');
  const response = await fetch(new URL(path, base), {
    method,
    headers,
    ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
  });
  if (!response.ok) throw new Refusal(await statusOf(response));
  return response;
}

export const askJson = async (path, options) => (await ask(path, options)).json();

async function statusOf(response) {
  const unknown = { code: response.status, reason: response.statusText, message: 'the backend gave no reason' };
  try {
    return { ...unknown, ...(await response.json()) };
  } catch {
    return unknown;
  }
}
