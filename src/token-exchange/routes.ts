import { formReader } from '@atrium/http/body.ts';
import { parseQuery, repeatableParameters } from '@atrium/http/input.ts';
import { OAuthError, oauthErrors } from '@atrium/http/oauth-errors.ts';
import { type Operation, operation } from '@atrium/http/operation.ts';
import { z } from 'zod';
import type { Exchanged, TokenExchange } from './exchange.ts';

const grantType = 'urn:ietf:params:oauth:grant-type:token-exchange';
const tokenTypes = { access: 'urn:ietf:params:oauth:token-type:access_token', id: 'urn:ietf:params:oauth:token-type:id_token' };
const subjectTypes = [tokenTypes.id, 'urn:ietf:params:oauth:token-type:jwt'];
/** A token of 16 KiB has hundreds of claims. */
const maxToken = 16 * 1024;
const maxForm = 32 * 1024;

/** RFC 8693 section 2.1. Other parameters are ignored (RFC 6749 section 3.2). */
const form = z
  .object({
    grant_type: z.string().describe(`\`${grantType}\``),
    subject_token: z.string().max(maxToken).describe('Token of the workload: a JWT of one of `tokenExchange.issuers`.'),
    subject_token_type: z.string().describe('`urn:ietf:params:oauth:token-type:id_token`, or the same with `jwt`.'),
    client_id: z
      .string()
      .max(253)
      .optional()
      .describe('Machine user, by login name or name of the record. Default: the one that trusts the token.'),
    scope: z.string().optional().describe('Words that narrow the token: `read`, `namespace:NAME`, `operation:ID`.'),
    requested_token_type: z.string().optional().describe(`\`${tokenTypes.access}\``),
    audience: z.array(z.string()).max(8).optional().describe('`server.publicURL`'),
    resource: z.array(z.string()).max(8).optional().describe('`server.publicURL`'),
    actor_token: z.string().optional().describe('Not accepted: a machine user acts for itself.'),
  })
  .meta({
    examples: [{ grant_type: grantType, subject_token: 'eyJhbGciOi…', subject_token_type: tokenTypes.id, client_id: 'shop-pipeline' }],
  });
const repeatable = repeatableParameters(form);
const readForm = formReader(maxForm);

const answer = z
  .object({
    access_token: z.string().describe('Access token `cat_…`. Only this answer shows it.'),
    issued_token_type: z.literal(tokenTypes.access),
    token_type: z.literal('Bearer'),
    expires_in: z.int().describe('Seconds.'),
    scope: z.string().optional(),
  })
  .meta({
    id: 'ExchangedToken',
    examples: [{ access_token: 'cat_4k2vqx7m5cabdefg_…', issued_token_type: tokenTypes.access, token_type: 'Bearer', expires_in: 3600 }],
  });

export const exchangeOperation = (exchange: TokenExchange, publicURL: string): Operation =>
  operation({
    id: 'ExchangeToken',
    method: 'POST',
    paths: ['/oauth2/token'],
    ignoredQuery: 'all',
    tag: 'access tokens',
    summary: 'Exchanges the token of a workload for an access token of a machine user (RFC 8693)',
    description: 'Refusals are a Status with the members `error` and `error_description` of OAuth.',
    credential: 'none',
    before: [oauthErrors],
    described: { body: { 'application/x-www-form-urlencoded': form } },
    answers: {
      200: { description: 'The access token.', content: { 'application/json': answer } },
      400: { description: 'The request is malformed, or no machine user trusts the token.' },
    },
    async handle({ ctx, signal }) {
      if (ctx.querystring !== '') throw new OAuthError('invalid_request', 'parameters belong in the body, which no log has');
      const given = form.parse(parseQuery(form, repeatable, withoutEmpty(await readForm(ctx))));
      const { subject_token: subjectToken, client_id: clientID, scope } = checked(given, publicURL);
      const { token, expiresInSeconds }: Exchanged = await exchange.exchange({ subjectToken, clientID, scope }, ctx, signal);
      ctx.set({ 'Cache-Control': 'no-store', Pragma: 'no-cache' });
      ctx.body = {
        access_token: token,
        issued_token_type: tokenTypes.access,
        token_type: 'Bearer',
        expires_in: expiresInSeconds,
        ...(scope !== undefined && { scope }),
      };
    },
  });

/** Drops parameters without a value (RFC 6749 section 3.2). @throws OAuthError for one that is given twice */
function withoutEmpty(given: URLSearchParams): URLSearchParams {
  const names = [...given.keys()].filter((name) => !repeatable.has(name));
  if (new Set(names).size !== names.length) throw new OAuthError('invalid_request', 'a parameter is given twice');
  return new URLSearchParams([...given].filter(([, value]) => value !== ''));
}

/** @throws OAuthError */
function checked(given: z.output<typeof form>, publicURL: string): z.output<typeof form> {
  if (given.grant_type !== grantType) throw new OAuthError('unsupported_grant_type', `grant_type: must be ${grantType}`);
  if (!subjectTypes.includes(given.subject_token_type))
    throw new OAuthError('invalid_request', `subject_token_type: must be ${subjectTypes.join(' or ')}`);
  if ((given.requested_token_type ?? tokenTypes.access) !== tokenTypes.access)
    throw new OAuthError('invalid_request', `requested_token_type: must be ${tokenTypes.access}`);
  if (given.actor_token !== undefined) throw new OAuthError('invalid_request', 'actor_token: is not accepted');
  const bare = (url: string) => url.replace(/\/$/, '');
  const isOurs = (target: string) => bare(target) === bare(publicURL);
  if (![...(given.audience ?? []), ...(given.resource ?? [])].every(isOurs))
    throw new OAuthError('invalid_target', 'audience and resource: must be the address of this service');
  return given;
}
