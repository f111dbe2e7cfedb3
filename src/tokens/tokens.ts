import type { Logger } from 'pino';
import { Lister } from '../collection/lister.ts';
import type { Config } from '../config/schema.ts';
import type { Audit } from '../http/audit.ts';
import type { Authenticator, JudgeAccessToken } from '../http/authenticator.ts';
import type { Check } from '../http/health.ts';
import type { Metrics } from '../http/metrics.ts';
import type { Operation } from '../http/operation.ts';
import { stateOf } from '../http/router.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import type { AccessReviews } from '../kubernetes/access.ts';
import type { ApiServer } from '../kubernetes/api-server.ts';
import { Sweeper } from '../kubernetes/sweeper.ts';
import { WatchCache } from '../kubernetes/watch-cache.ts';
import type { LocalGroupLookup } from '../users/record/local-groups.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import { LastUse } from './last-use.ts';
import { accessTokenOperations } from './routes.ts';
import { type AccessTokenRow, accessTokenApiVersion, accessTokenResource, accessTokenRow } from './row.ts';
import { accessTokenProperties } from './schema.ts';
import { AccessTokenService } from './service.ts';
import { accessTokenSweep } from './sweep.ts';
import { AccessTokenVerifier } from './verifier.ts';

export interface AccessTokensOptions {
  config: Config;
  apiServer: ApiServer;
  access: AccessReviews;
  accounts: AccountLookup;
  localGroups: LocalGroupLookup;
  keyRing: KeyRing;
  /** Asks the API server whose a token is. */
  identify: Authenticator['identify'];
  audit: Audit;
  log: Logger;
  metrics: Metrics;
  now?: () => Date;
  /** Milliseconds that only ever grow. */
  clock?: () => number;
}

/** The feature: its operations, whose a token is, and what it watches. */
export interface AccessTokens {
  operations: Operation[];
  judge: JudgeAccessToken;
  /** Deletes all tokens of a User record. @throws StatusError 503, 504 */
  endAll(owner: { uid: string }, signal: AbortSignal): Promise<void>;
  checks: Check[];
  start(): void;
  stop(): Promise<void>;
}

export function createAccessTokens(options: AccessTokensOptions): AccessTokens {
  const { config, apiServer, keyRing, now = () => new Date(), clock = () => performance.now() } = options;
  const client = apiServer.asService;
  const tokens = new WatchCache<AccessTokenRow>(
    { ...options, client },
    { name: 'accesstokens', type: accessTokenResource, keep: accessTokenRow },
  );
  const { idleDays } = config.users;
  const verifier = new AccessTokenVerifier({ ...options, tokens, groupsPrefix: config.login.claims.groupsPrefix, idleDays, now });
  const lastUse = new LastUse({ ...options, client, now, clock });
  const sweeper = new Sweeper({ client, log: options.log }, accessTokenSweep(client, tokens, now));
  const lister = new Lister({
    ...options,
    cache: tokens,
    name: 'accesstokens',
    properties: accessTokenProperties,
    apiVersion: accessTokenApiVersion,
    listKind: 'AccessTokenList',
    seal: keyRing.sealFor('continue'),
    keysSettled: () => keyRing.settled(),
    now,
  });
  const service = new AccessTokenService({ ...options, tokens, lister, config: config.users, now });
  return {
    operations: accessTokenOperations({ ...options, service, review: { verifier, lastUse } }),
    endAll: (owner, signal) => service.endAll(owner, signal),
    async judge(bearer, ctx, isUse) {
      const judged = await verifier.bearer(bearer, stateOf(ctx).signal);
      if (isUse) lastUse.note(judged.row);
      return judged.bearer;
    },
    checks: [
      {
        name: 'access-tokens',
        critical: false,
        isAwaited: true,
        failure: () => tokens.missing(),
      },
    ],
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
