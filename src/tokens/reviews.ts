import type { LastUse } from './last-use.ts';
import type { TokenReview, TokenReviewRequest } from './schema.ts';
import type { AccessTokenVerifier } from './verifier.ts';

/** Names the token in the audit log of the API server. */
const idKey = 'auth.platform.io/access-token';

const passwordDue = 'the password of the account must be changed first';

/**
 * Whose a token is, for the API server's token webhook (docs/contract/teams.md). A token that is none of ours is no error: the API server asks for
 * every one that it does not know itself. No audience is named, which means that of the API server: who asks for another one must
 * not take the token.
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
