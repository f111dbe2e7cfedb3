import type { Config } from '../config/schema.ts';

/** Removes slashes at the end. */
const bare = (publicURL: string): string => publicURL.replace(/\/{1,8}$/, '');

/** Returns the address of the console: the public URL with one slash at the end. */
const consoleURLOf = (publicURL: string): string => `${bare(publicURL)}/`;

/** Returns the addresses that the issuer may redirect to after a logout. The first is the default. */
export const postLogoutURLsOf = (publicURL: string, { postLogoutRedirectURLs }: Pick<Config['login'], 'postLogoutRedirectURLs'>) =>
  postLogoutRedirectURLs ?? [consoleURLOf(publicURL)];

/** Returns the addresses that the issuer may redirect to after a login: the settings and both callbacks. The first is the default. */
export function redirectURLsOf(publicURL: string, { redirectURLs }: Pick<Config['login'], 'redirectURLs'>): string[] {
  const callbacks = ['v1', 'v2'].map((version) => `${bare(publicURL)}/api/${version}/token/callback`);
  return [...new Set([...(redirectURLs ?? [consoleURLOf(publicURL)]), ...callbacks])];
}
