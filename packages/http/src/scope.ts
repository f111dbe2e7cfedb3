import { StatusError } from '@atrium/objects/status.ts';
import type { TokenScope, ViewedAccess } from './caller.ts';

/** Paths of the roles `system:discovery` and `system:public-info-viewer`, which programs ask for before each request. */
export const discoveryPaths = /^\/(?:api|apis|openapi|version)(?:\/|$)/;

/** Returns the refusal for a request that the scope of an access token does not have. @param what an operation id, or words for an access */
export function outsideScope(what: string): StatusError {
  const message = `the scope of the access token does not have ${what}: use a token whose scope has it, or log in`;
  return new StatusError(403, 'Forbidden', message, { details: { causes: [{ reason: 'OutsideScope', message }] } });
}

/** @throws StatusError 403, cause `OutsideScope` */
export function requireScope(scope: TokenScope, access: ViewedAccess): void {
  if (!scope.permits(access)) throw outsideScope(textOf(access));
}

function textOf(access: ViewedAccess): string {
  if ('path' in access) return `${access.verb} ${access.path}`;
  const { verb, group, resource, subresource, namespace } = access;
  const what = [resource, ...(subresource ? [subresource] : [])].join('/');
  return `${verb} ${what}${group && `.${group}`} ${namespace ? `in namespace ${namespace}` : 'at the cluster scope'}`;
}
