import { StatusError } from '@atrium/objects/status.ts';
import type { Preparation } from './operation.ts';

/** Error codes of a token endpoint (RFC 6749 section 5.2, RFC 8693 section 2.2.2). */
type OAuthErrorCode = 'invalid_request' | 'invalid_target' | 'invalid_scope' | 'unsupported_grant_type';

/** Refusal with an error code of OAuth. */
export class OAuthError extends StatusError {
  readonly error: OAuthErrorCode;

  constructor(error: OAuthErrorCode, description: string, options: ErrorOptions = {}) {
    super(400, 'BadRequest', description, options);
    this.error = error;
  }
}

/** Adds `error` and `error_description` to the Status of each refusal of an operation, for clients of OAuth. */
export const oauthErrors: Preparation = (ctx) => {
  ctx.state.hasOAuthErrors = true;
};

/** Returns the members that clients of OAuth read. */
export const oauthMembers = (failure: StatusError) => ({
  error: failure instanceof OAuthError ? failure.error : codeOf(failure.status.code),
  error_description: failure.status.message,
});

/** RFC 6749 section 4.1.2.1 defines the codes for faults of the server. */
function codeOf(status: number): string {
  if (status === 429 || status === 503 || status === 504) return 'temporarily_unavailable';
  return status >= 500 ? 'server_error' : 'invalid_request';
}
