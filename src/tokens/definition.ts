import { z } from 'zod';
import type { StandardResource } from '../collection/resource-declaration.ts';
import type { Services } from '../services.ts';
import { type AccountLookup, ownAccount, requireAccounts } from '../users/record/lookup.ts';
import { accessTokenObject, accessTokenProperties } from './schema.ts';
import { type AccessTokenRow, accessTokenKind } from './store.ts';
import { isOf, listParameters, visibleTokens } from './strategy.ts';

const accessTokenName = z
  .string()
  .regex(/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/)
  .describe('Name of the AccessToken.');

/** Access tokens as a resource with the standard operations. They are created by another operation, whose answer has the secret. */
export const accessTokenDefinition = (services: Services, accounts: AccountLookup): StandardResource<AccessTokenRow, never, never> => ({
  kind: accessTokenKind,
  path: '/auth/v1/accesstokens',
  tag: 'access tokens',
  ids: { one: 'AccessToken', many: 'AccessTokens' },
  nouns: { one: 'token', many: 'access tokens' },
  name: accessTokenName,
  nameParameter: 'id',
  schema: accessTokenObject,
  properties: accessTokenProperties,
  isUncompressed: true,
  list: {
    summary: 'Lists access tokens: those of the caller, or all of them with the right to list them',
    description: 'Select the tokens of a user by `user=NAME` or `fieldSelector=spec.owner=NAME`, with the name of the User record.',
    answers: { 403: { description: 'RBAC denies listing access tokens of other users.' } },
    parameters: listParameters,
    select: visibleTokens(services, accounts),
  },
  delete: {
    summary: 'Revokes an access token',
    answers: {
      204: { description: 'The token is revoked.' },
      403: { description: 'The token belongs to another user, and RBAC denies it.' },
      409: { description: 'The token does not match the preconditions.' },
    },
    audit: 'AccessTokenDeleted',
    own: {
      isOwn(row, caller) {
        requireAccounts(accounts);
        return isOf(row, ownAccount(accounts, caller));
      },
      ownerOf: ({ owner, ownerUID }) => ({ name: owner, uid: ownerUID }),
    },
  },
});
