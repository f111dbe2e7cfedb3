import { api, bodyOf } from './client';
import { Problem } from './problem';

/** Encrypted for the service, where it has a key and the browser can; else as it is. Logs and proxies in between then see nothing. */
export async function sealed(password: string): Promise<string> {
  if (!globalThis.isSecureContext) return password;
  try {
    const { ts, pubkey } = await bodyOf(api.GET('/auth/v1/pubkey'));
    const der = Uint8Array.from(atob(pubkey.replaceAll(/-----[^-]+-----|\s/g, '')), (letter) => letter.charCodeAt(0));
    const key = await crypto.subtle.importKey('spki', der, { name: 'RSA-OAEP', hash: 'SHA-256' }, false, ['encrypt']);
    const bytes = await crypto.subtle.encrypt({ name: 'RSA-OAEP' }, key, new TextEncoder().encode(JSON.stringify({ ts, password })));
    return btoa(String.fromCharCode(...new Uint8Array(bytes)));
  } catch (error) {
    // Switched off.
    if (error instanceof Problem && error.status === 404) return password;
    throw error;
  }
}
