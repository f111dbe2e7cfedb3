import { hash } from 'node:crypto';
import { StatusError } from '../api/status.ts';
import type { Issuer } from '../issuer/issuer.ts';
import type { VerifiedClaims } from '../issuer/types.ts';
import { VerifiedLogin } from '../issuer/verified-login.ts';
import { sessionEnded } from './account-state.ts';
import type { SessionContext } from './context.ts';
import type { LoginFacts } from './login-facts.ts';

/** The parts of renewed tokens that name a user. */
export interface Renewed {
  readonly claims?: VerifiedClaims | undefined;
  readonly bearer?: string | undefined;
}

type RenewalContext = Pick<SessionContext, 'accountState' | 'identify'>;

/** A login with the issuer that renews its tokens. */
interface RenewedLogin {
  login: LoginFacts;
  issuer: Issuer;
}

/**
 * Returns the 401 to throw if renewed tokens do not match the login (docs/contract/login.md). The issuer may rename a user and keep the
 * `sub`: a revocation by either name would then miss these tokens.
 */
export async function renewedTokensRefusal(
  context: RenewalContext,
  { login, issuer }: RenewedLogin,
  { claims, bearer }: Renewed,
  signal: AbortSignal,
): Promise<StatusError | undefined> {
  if (claims === undefined) return undefined;
  const verified = new VerifiedLogin(issuer, claims);
  try {
    const why = differenceIn(context, login, verified) ?? (await differenceAtAPIServer(context, { login, issuer }, bearer, signal));
    return why === undefined ? undefined : sessionEnded(new Error(why));
  } catch (error) {
    if (error instanceof StatusError && error.status.code === 401) return error;
    throw error;
  }
}

function differenceIn({ accountState }: RenewalContext, { claimedName, userUID }: LoginFacts, verified: VerifiedLogin): string | undefined {
  if (verified.identity.name !== claimedName) return 'the renewed tokens are for another user name';
  if (userUID !== undefined && accountState.find(verified)?.uid !== userUID) return 'the renewed tokens lead to another record';
  return undefined;
}

/** Compares the user name that the API server finds in the tokens, if it receives them. Without its answer, the claims decide. */
async function differenceAtAPIServer(
  { identify }: RenewalContext,
  { login, issuer }: RenewedLogin,
  token: string | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!issuer.settings.isForwarded || token === undefined) return undefined;
  try {
    const { identity } = await identify({ token, hash: hash('sha256', token) }, signal);
    return identity.name === login.subjectName ? undefined : 'the API server takes the renewed tokens for another user';
  } catch (error) {
    if (error instanceof StatusError || signal.aborted) return undefined;
    throw error;
  }
}
