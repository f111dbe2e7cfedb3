import { hash } from 'node:crypto';
import { StatusError } from '../api/status.ts';
import { identityOf, loginOf } from '../issuer/claims.ts';
import type { VerifiedClaims } from '../issuer/types.ts';
import { sessionEnded } from './account-state.ts';
import type { SessionContext } from './context.ts';
import type { LoginFacts } from './login-facts.ts';

/** What a renewal brought, as far as it tells whose it is. */
interface Renewed {
  claims?: VerifiedClaims | undefined;
  bearer?: string | undefined;
}

type RenewalContext = Pick<SessionContext, 'issuers' | 'accountState' | 'identify'>;

/**
 * Whether renewed tokens are still those of the login (docs/contract/login.md): the 401 to throw, or undefined. The issuer may give a
 * person another name, and the `sub` stays; what ends the access of the one or the other person would then miss these tokens.
 */
export async function renewedTokensRefusal(
  context: RenewalContext,
  login: LoginFacts,
  { claims, bearer }: Renewed,
  signal: AbortSignal,
): Promise<StatusError | undefined> {
  if (claims === undefined) return undefined;
  try {
    const why = differenceIn(context, login, claims) ?? (await differenceAtAPIServer(context, login, bearer, signal));
    return why === undefined ? undefined : sessionEnded(new Error(why));
  } catch (error) {
    if (error instanceof StatusError && error.status.code === 401) return error;
    throw error;
  }
}

function differenceIn(
  { issuers, accountState }: RenewalContext,
  { iss, claimedName, userUID }: LoginFacts,
  claims: VerifiedClaims,
): string | undefined {
  const { settings } = issuers.of({ iss });
  if (identityOf(claims, settings).name !== claimedName) return 'the renewed tokens are for another user name';
  if (userUID !== undefined && accountState.find(loginOf(claims, settings), claims)?.uid !== userUID)
    return 'the renewed tokens lead to another record';
  return undefined;
}

/** Where the API server sees the tokens, it decides the name. While it is out of reach, or does not take them, the claims decide. */
async function differenceAtAPIServer(
  { issuers, identify }: RenewalContext,
  { iss, subjectName }: LoginFacts,
  token: string | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!issuers.of({ iss }).settings.isForwarded || token === undefined) return undefined;
  try {
    const { identity } = await identify({ token, hash: hash('sha256', token) }, signal);
    return identity.name === subjectName ? undefined : 'the API server takes the renewed tokens for another user';
  } catch (error) {
    if (error instanceof StatusError || signal.aborted) return undefined;
    throw error;
  }
}
