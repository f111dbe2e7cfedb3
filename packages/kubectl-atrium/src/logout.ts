import { Issuer, troubleOf } from './issuer.ts';
import type { LogIn } from './settings.ts';
import type { Terminal } from './terminal.ts';
import { TokenCache } from './token-cache.ts';
import type { Tokens } from './tokens.ts';

const waitMs = 30_000;

/**
 * Forgets a login, or all, and revokes their refresh tokens at issuers that support it (RFC 7009).
 *
 * @returns the number of logins
 * @throws CommandError if a login is forgotten, but stays valid at its issuer
 */
export async function logOut(logIn: LogIn | undefined, terminal: Terminal): Promise<number> {
  const cache = new TokenCache(terminal);
  const logIns = logIn === undefined ? (await cache.entries()).map((entry) => entry.logIn) : [logIn];
  const results = await Promise.allSettled(logIns.map((each) => forget(each, cache, terminal)));
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return results.filter((result) => result.status === 'fulfilled' && result.value).length;
}

/** Waits while another process renews the login: its result would be stored again. */
const forget = (logIn: LogIn, cache: TokenCache, terminal: Terminal): Promise<boolean> =>
  cache.alone(
    logIn,
    async () => {
      const kept = await cache.read(logIn);
      await cache.remove(logIn);
      if (kept?.refreshToken !== undefined) await revoke(logIn, kept.refreshToken, terminal);
      return kept !== undefined;
    },
    waitMs,
  );

async function revoke(logIn: LogIn, refreshToken: NonNullable<Tokens['refreshToken']>, terminal: Terminal): Promise<void> {
  try {
    const issuer = await Issuer.find(logIn, terminal);
    try {
      await issuer.revoke(refreshToken);
    } finally {
      await issuer.close();
    }
  } catch (error) {
    throw troubleOf(`forgotten here, but not ended at ${logIn.issuer}`, error, terminal);
  }
}
