import { isRecord } from '@atrium/objects/reader.ts';
import { runningSubresources } from './opened-connection.ts';
import { isTrue, type TargetResource } from './request-target.ts';

type Asked = { verb: string } & Pick<TargetResource, 'resource' | 'subresource'>;

const writes = ['create', 'update', 'patch'];
const deletions = ['delete', 'deletecollection'];

/** Reports whether a request evicts a pod. */
export const isEviction = ({ resource, subresource }: Pick<Asked, 'resource' | 'subresource'>): boolean =>
  resource === 'pods' && subresource === 'eviction';

const hasDryRun = (options: unknown): boolean => isRecord(options) && Array.isArray(options.dryRun) && options.dryRun.length > 0;

/** Reports whether the API server ignores the parameter: a connection is opened, and a token of a ServiceAccount is issued and valid. */
const ignores = ({ resource, subresource }: Asked): boolean =>
  runningSubresources.includes(subresource) || (resource === 'serviceaccounts' && subresource === 'token');

/**
 * Reports whether a request that the API server accepted is a dry run. The API server takes the options of a deletion from its body, as
 * clients send them, and ignores the query then. A read is none.
 *
 * @param body undefined for a request without one, null for a body that is not known
 * @see https://github.com/kubernetes/kubernetes/blob/master/staging/src/k8s.io/apiserver/pkg/endpoints/handlers/delete.go
 */
export function isDryRun(asked: Asked, search: string, body: unknown): boolean {
  const { verb } = asked;
  if (ignores(asked)) return false;
  if (deletions.includes(verb) && body !== undefined) return hasDryRun(body);
  const isOfBody = isEviction(asked) && isRecord(body) && hasDryRun(body.deleteOptions);
  return [...writes, ...deletions].includes(verb) && (isOfBody || isTrue(search, 'dryRun'));
}
