import { type Kind, kindId } from '../../../api/kinds';

/** Finds a kind by its name, as kubectl writes it: `deployments.apps`. */
export const findKind = (kinds: readonly Kind[], id: string): Kind | undefined =>
  kinds.find((kind) => kind.isPreferred && kindId(kind) === id);

/** Returns the group of an `apiVersion`; the core group is `''`. */
export const groupOf = (apiVersion = ''): string => (apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '');
