import type { Authenticator, VerifyAccessToken } from '@atrium/http/authenticator.ts';
import type { Check } from '@atrium/http/health.ts';
import type { Operation } from '@atrium/http/operation.ts';
import { Sweeper } from '@atrium/kubernetes/controllers/sweeper.ts';
import { type Collection, collection } from '../collection/collection.ts';
import type { Services } from '../services.ts';
import type { LocalGroupLookup } from '../users/record/local-groups.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import { accessTokenOperations } from './routes.ts';
import { accessTokenProperties } from './schema.ts';
import { AccessTokenService } from './service.ts';
import { type AccessTokenRow, accessTokenResource, accessTokenRow, accessTokenSweep, LastUse } from './store.ts';
import { AccessTokenVerifier } from './verifier.ts';

/** Access tokens as a feature: operations, verification and watch cache. */
export interface AccessTokens {
  operations: Operation[];
  judge: VerifyAccessToken;
  cache: Pick<Collection<AccessTokenRow>['cache'], 'isRefused'>;
  /** Deletes all tokens of a User record. @throws StatusError 503, 504 */
  deleteAll(owner: { uid: string }, signal: AbortSignal): Promise<void>;
  checks: Check[];
  start(): void;
  stop(): Promise<void>;
}

interface AccessTokenNeeds {
  accounts: AccountLookup;
  localGroups: LocalGroupLookup;
  /** Asks the API server for the user of a bearer token. */
  identify: Authenticator['identify'];
}

export function createAccessTokens(services: Services, { accounts, localGroups, identify }: AccessTokenNeeds): AccessTokens {
  const tokens = collection(services, {
    resource: accessTokenResource,
    kind: 'AccessToken',
    row: accessTokenRow,
    properties: accessTokenProperties,
  });
  const verifier = new AccessTokenVerifier(services, tokens.cache, { accounts, localGroups });
  const lastUse = new LastUse(services);
  const sweeper = new Sweeper(services, accessTokenSweep(services.client, tokens.cache, services.now));
  const service = new AccessTokenService(services, accounts, tokens);
  return {
    cache: tokens.cache,
    operations: accessTokenOperations(services, { service, review: { verifier, lastUse }, identify }),
    deleteAll: (owner, signal) => service.deleteAll(owner, signal),
    async judge(bearer, ctx, isUse) {
      const judged = await verifier.bearer(bearer, ctx.state.signal);
      if (isUse) lastUse.note(judged.row);
      return judged.bearer;
    },
    checks: [{ ...tokens.check, name: 'access-tokens' }],
    start() {
      tokens.start();
      sweeper.start();
    },
    async stop() {
      await sweeper.stop();
      await lastUse.stop();
      await tokens.stop();
    },
  };
}
