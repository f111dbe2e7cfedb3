import type { Strategy } from '../collection/standard-writes.ts';
import type { UsersContext } from './context.ts';
import { createStrategy } from './create.ts';
import { patchStrategy } from './patch.ts';
import type { NewUser, UserPatch } from './user-body.ts';

/** Rules of creations and changes of users. Deletions have their own (`delete.ts`). */
export const userStrategy = (context: UsersContext): Strategy<NewUser, UserPatch> => ({
  ...createStrategy(context),
  patch: patchStrategy(context),
});
