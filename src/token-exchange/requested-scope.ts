import { OAuthError } from '@atrium/http/oauth-errors.ts';
import { type GivenScope, tokenScope } from '../tokens/scope.ts';

const reads = [{ verbs: ['get', 'list', 'watch'], apiGroups: ['*'], resources: ['*'] }];
const maxLength = 4096;

/**
 * Returns the scope that the words of a request name: `read`, `namespace:NAME` and `operation:ID`. A scope narrows the rights of the user,
 * and has no word that could widen them.
 *
 * @param isOperation reports whether the service has an operation of that id. A token for another one would open less than its pipeline needs.
 * @throws OAuthError invalid_scope
 */
export function requestedScope(scope: string | undefined, isOperation: (id: string) => boolean): GivenScope | undefined {
  if (scope === undefined) return undefined;
  if (scope.length > maxLength) throw invalid();
  const words = new Set(scope.split(' '));
  const named = (kind: string) => [...words].flatMap((word) => (word.startsWith(`${kind}:`) ? [word.slice(kind.length + 1)] : []));
  const [namespaces, operations] = [named('namespace'), named('operation')];
  const known = (words.has('read') ? 1 : 0) + namespaces.length + operations.length;
  const asked = tokenScope.safeParse({
    ...(words.has('read') && { rules: reads }),
    ...(namespaces.length > 0 && { namespaces }),
    ...(operations.length > 0 && { operations }),
  });
  if (known !== words.size || namespaces.includes('') || !operations.every(isOperation) || !asked.success) throw invalid();
  return asked.data;
}

const invalid = () =>
  new OAuthError(
    'invalid_scope',
    'scope: must be read, namespace:NAME and operation:ID with the id of an operation, separated by one space',
  );
