/** Speaks to the backend. Addresses are relative, so that the page works below any base path. */

/** Held here and nowhere else: not in storage, not in a cookie, not in an address. */
let token = '';

export const useToken = (text) => {
  token = text.trim();
};

export const hasToken = () => token !== '';

/** What the backend refused with: a Kubernetes Status. */
export class Refusal extends Error {
  constructor({ code, reason, message }) {
    super(message);
    this.code = code;
    this.reason = reason;
  }
}

export async function ask(path, { method = 'GET', body } = {}) {
  const headers = new Headers();
  if (token !== '') headers.set('Authorization', `Bearer ${token}`);
  if (body !== undefined) headers.set('Content-Type', 'application/json');
  const response = await fetch(path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
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

/**
 * What a token says of itself; nobody has checked it here.
 *
 * @returns the claims, or undefined for a token that is no JWT
 */
export function claims() {
  try {
    const payload = token.split('.')[1].replaceAll('-', '+').replaceAll('_', '/');
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(payload), (character) => character.charCodeAt(0))));
  } catch {
    return undefined;
  }
}
