import type { Authenticator, VerifyAccessToken } from '@atrium/http/authenticator.ts';
import type { Check } from '@atrium/http/health.ts';
import type { Operation } from '@atrium/http/operation.ts';
import { Sweeper } from '@atrium/kubernetes/controllers/sweeper.ts';
import { type Collection, collection } from '@atrium/lists/collection.ts';
import type { WhileAllowedOptions } from '@atrium/lists/while-allowed.ts';
import { followedLists } from '../collection/followed-lists.ts';
import { standardOperations } from '../collection/standard-resource.ts';
import type { Services } from '../services.ts';
import type { LocalGroupLookup } from '../users/record/local-groups.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import { AccessTokenCreator } from './create.ts';
import { accessTokenDefinition } from './definition.ts';
import { ExchangedTokens, exchangedTokenSweep } from './exchanged.ts';
import { createOperation, reviewOperation } from './routes.ts';
import { accessTokenProperties } from './schema.ts';
import { type AccessTokenRow, accessTokenResource, accessTokenRow, accessTokenSweep, LastUse, removeTokensOf } from './store.ts';
import { AccessTokenVerifier } from './verifier.ts';

const collected = { resource: accessTokenResource, kind: 'AccessToken', row: accessTokenRow, properties: accessTokenProperties };

/** Access tokens as a feature: operations, verification and watch cache. */
export interface AccessTokens {
  operations: Operation[];
  judge: VerifyAccessToken;
  /** Tokens of machine users. */
  exchanged: ExchangedTokens;
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
  /** Checks the credential of a live list again. */
  again: WhileAllowedOptions['again'];
  /** Reports whether the service has an operation of that id. */
  isOperation: (id: string) => boolean;
}

export function createAccessTokens(services: Services, needs: AccessTokenNeeds): AccessTokens {
  const { accounts, localGroups, identify, again, isOperation } = needs;
  const tokens = collection(services, collected);
  const verifier = new AccessTokenVerifier(services, tokens.cache, { accounts, localGroups });
  const lastUse = new LastUse(services);
  const sweepers = [
    accessTokenSweep({ ...services, ...services.config.users.accessTokens }, tokens.cache),
    exchangedTokenSweep(services, tokens.cache),
  ].map((sweep) => new Sweeper(services, sweep));
  const live = followedLists(services, tokens, collected, again);
  return {
    exchanged: new ExchangedTokens(services, tokens),
    cache: tokens.cache,
    operations: [
      createOperation(services, new AccessTokenCreator(services, { accounts, tokens, isOperation })),
      ...standardOperations(services, tokens, accessTokenDefinition(services, accounts), live),
      reviewOperation(services, { review: { verifier, lastUse }, identify }),
    ],
    deleteAll: (owner, signal) => removeTokensOf(services.client, tokens, owner, signal),
    async judge(bearer, ctx, isUse) {
      const judged = await verifier.bearer(bearer, ctx.state.source, ctx.state.signal);
      if (isUse) lastUse.note(judged.row);
      return judged.bearer;
    },
    checks: [{ ...tokens.check, name: 'access-tokens' }],
    start() {
      tokens.start();
      for (const sweeper of sweepers) sweeper.start();
    },
    async stop() {
      for (const sweeper of sweepers) await sweeper.stop();
      await lastUse.stop();
      await tokens.stop();
    },
  };
}
