/** Login that is stored on this machine: used, renewed or replaced, by one process at a time. */
import type { Issuer } from './issuer.ts';
import type { LogIn, Ways } from './settings.ts';
import { CommandError, say, type Terminal } from './terminal.ts';
import { TokenCache } from './token-cache.ts';
import { claimsOf, type Tokens } from './tokens.ts';

/** A token that expires sooner might be expired before the API server receives it. */
const leastLifeMs = 10_000;
/** Time for which a process that cannot log in waits for another that can. */
const waitMs = 60_000;

export interface Wanted {
  logIn: LogIn;
  ways: Ways;
  /** Address of the service. Default: that of the embedded issuer. */
  service?: string;
}

/** @throws CommandError if there is no valid login, and no terminal to ask for a new one */
export async function currentTokens({ logIn, ways }: Wanted, { isInteractive }: { isInteractive: boolean }, terminal: Terminal) {
  const cache = new TokenCache(terminal);
  const kept = await cache.read(logIn);
  if (isFresh(kept)) return kept;
  const renew = async () => {
    // Another process may have renewed it first.
    const now = await cache.read(logIn);
    if (isFresh(now)) return now;
    return withIssuer(logIn, terminal, async (issuer) => {
      const again = await renewed(issuer, now, terminal);
      if (again === undefined) await cache.remove(logIn);
      const tokens = again ?? (await newTokens(issuer, { ways, isInteractive }, terminal));
      await cache.write(logIn, tokens);
      return tokens;
    });
  };
  return cache.alone(logIn, renew, isInteractive ? ways.timeoutMs + waitMs : waitMs);
}

/** Logs in again, whatever is stored. */
export async function logInAgain({ logIn, ways }: Wanted, terminal: Terminal): Promise<Tokens> {
  const cache = new TokenCache(terminal);
  const make = () =>
    withIssuer(logIn, terminal, async (issuer) => {
      const tokens = await newTokens(issuer, { ways, isInteractive: true }, terminal);
      await cache.write(logIn, tokens);
      return tokens;
    });
  return cache.alone(logIn, make, waitMs);
}

/** Reports whether tokens are valid for long enough to be used. */
export const isFresh = (tokens: Tokens | undefined): tokens is Tokens =>
  tokens !== undefined && claimsOf(tokens).expiresAt.getTime() - Date.now() >= leastLifeMs;

/**
 * Renews the tokens. Returns undefined if the issuer refuses.
 *
 * @throws CommandError for a temporary failure, after which the login is kept
 */
async function renewed(issuer: Issuer, kept: Tokens | undefined, terminal: Terminal): Promise<Tokens | undefined> {
  if (kept?.refreshToken === undefined) return undefined;
  const { RefreshRefused, troubleOf } = await import('./issuer.ts');
  try {
    return await issuer.refresh({ ...kept, refreshToken: kept.refreshToken });
  } catch (error) {
    if (error instanceof RefreshRefused) return undefined;
    throw troubleOf('the login could not be renewed', error, terminal);
  }
}

async function newTokens(issuer: Issuer, { ways, isInteractive }: { ways: Ways; isInteractive: boolean }, terminal: Terminal) {
  if (!isInteractive) throw new CommandError('you are not logged in, and there is no terminal to ask in: run kubectl atrium login first');
  const { logInAt } = await import('./login.ts');
  const tokens = await logInAt(issuer, ways, terminal);
  if (!isFresh(tokens)) say(terminal, 'The tokens of this issuer end at once. Is the clock of this machine right?');
  return tokens;
}

/** Loads the client of the issuer on demand: most calls of kubectl need the stored token only. */
async function withIssuer<T>(logIn: LogIn, terminal: Terminal, use: (issuer: Issuer) => Promise<T>): Promise<T> {
  const { Issuer } = await import('./issuer.ts');
  const issuer = await Issuer.find(logIn, terminal);
  try {
    return await use(issuer);
  } finally {
    await issuer.close();
  }
}
