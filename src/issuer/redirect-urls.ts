import type { Config } from '../config/schema.ts';

/** Without its slashes at the end. */
const bare = (publicURL: string): string => publicURL.replace(/\/{1,8}$/, '');

/** The console's page: the public URL with one slash at its end. */
const homeOf = (publicURL: string): string => `${bare(publicURL)}/`;

/** Where the issuer may send browsers after a logout; the first is the default. */
export const postLogoutURLsOf = (publicURL: string, { postLogoutRedirectURLs }: Pick<Config['login'], 'postLogoutRedirectURLs'>) =>
  postLogoutRedirectURLs ?? [homeOf(publicURL)];

/** Where the issuer may send browsers back to: the settings, and our two callback addresses. The first is the default. */
export function redirectURLsOf(publicURL: string, { redirectURLs }: Pick<Config['login'], 'redirectURLs'>): string[] {
  const callbacks = ['v1', 'v2'].map((version) => `${bare(publicURL)}/api/${version}/token/callback`);
  return [...new Set([...(redirectURLs ?? [homeOf(publicURL)]), ...callbacks])];
}
