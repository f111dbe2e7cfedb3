import type { LastUse } from './last-use.ts';
import type { TokenReview, TokenReviewRequest } from './schema.ts';
import type { AccessTokenVerifier } from './verifier.ts';

/** Names the token in the audit log of the API server. */
const idKey = 'auth.platform.io/access-token';

const passwordDue = 'the password of the account must be changed first';

/**
 * Reviews a token for the API server's token webhook (docs/contract/teams.md). An unknown token is not an error: the API server asks
 * about every token that it does not know itself. The answer names no audience, which means the audience of the API server: a client
 * that asks for another audience must not accept the token.
 *
 * @throws StatusError 503
 */
export async function reviewToken(
  { apiVersion, kind, spec: { token } }: TokenReviewRequest,
  { verifier, lastUse }: { verifier: AccessTokenVerifier; lastUse: LastUse },
  signal: AbortSignal,
): Promise<TokenReview> {
  const review = (status: TokenReview['status']): TokenReview => ({ apiVersion, kind, metadata: {}, spec: {}, status });
  const verdict = await verifier.verify(token, signal);
  if (verdict === undefined) return review({ authenticated: false });
  if ('cause' in verdict) return review({ authenticated: false, error: verdict.cause.message ?? 'the token does not count' });
  const { row, account, identity } = verdict;
  if (account.mustChangePassword) return review({ authenticated: false, error: passwordDue });
  lastUse.note(row);
  const { name: username, uid, groups } = identity;
  return review({ authenticated: true, user: { username, uid, groups: [...groups], extra: { [idKey]: [row.name] } } });
}
