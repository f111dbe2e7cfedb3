/** Rules of access tokens: users see and delete their own; tokens of other users need RBAC on `accesstokens`. */
import { fieldRequirements } from '@atrium/lists/query.ts';
import type { SelectVisible, VisibleRows } from '@atrium/lists/visible-rows.ts';
import { forbidden } from '@atrium/objects/status.ts';
import { z } from 'zod';
import type { Services } from '../services.ts';
import type { Account } from '../users/record/account.ts';
import { type AccountLookup, ownAccount, requireAccounts } from '../users/record/lookup.ts';
import { type AccessTokenRow, accessTokenResource } from './store.ts';

/** Reports whether the account owns the token. A record that reuses the name of a deleted one does not own its tokens. */
export const isOf = (row: AccessTokenRow, account: Account | undefined): boolean =>
  account !== undefined && row.owner === account.name && row.ownerUID === account.uid;

export const listParameters = z.object({
  user: z.string().min(1).max(253).optional().describe('Selects the tokens of the User record of this name.'),
});

/** Selects the tokens of a user, all of them for callers with the right, or else the caller's own. */
export const visibleTokens =
  ({ access }: Pick<Services, 'access'>, accounts: AccountLookup): SelectVisible<AccessTokenRow> =>
  async (query, { caller, verb, signal }) => {
    const { user } = listParameters.parse(query);
    requireAccounts(accounts);
    const own = ownAccount(accounts, caller);
    const ownTokens = { scope: () => scopeOf(ownAccount(accounts, caller)) };
    if (user !== undefined && user === own?.name) return ownTokens;
    const right = { ...accessTokenResource, verb };
    if (await access.can(caller, right, signal))
      return { right, ...(user !== undefined && { scope: () => scopeOf(accounts.get(user)) }) } satisfies VisibleRows<AccessTokenRow>;
    const isForeign = fieldRequirements(query.fieldSelector).some(
      ({ field, operator, value }) => field === 'spec.owner' && operator === '=' && value !== own?.name,
    );
    if (user !== undefined || isForeign) throw forbidden({ ...right, user: caller.identity.name });
    return ownTokens;
  };

const scopeOf = (account: Account | undefined) => ({
  key: `of ${account?.uid}`,
  fits: (row: AccessTokenRow) => isOf(row, account),
});
