/** Calls with the service's own account, and refusals that no retry cures, because the cluster lacks manifests of the installation. */
import { type GroupResource, installationIncomplete, StatusError, serviceUnavailable, wholeRetrySeconds } from '@atrium/objects/status.ts';
import { z } from 'zod';
import type { ServerClock } from './clock.ts';
import type { Connection } from './connection.ts';
import { commandGranting, type DeniedRight, definitionsCommand } from './manifests.ts';
import { groupsPath, type ResourceType } from './resource.ts';
import type { ApiCall, StreamCall, Transport, UpstreamResponse } from './transport.ts';
import { answerOf, isRefusal, isUnknownResource, UpstreamError, upstreamRefusal } from './upstream-error.ts';

/** Calls with the service's own credential. */
export class ServiceClient {
  readonly #transport: Transport;
  readonly #connection: Connection;

  constructor(transport: Transport, connection: Connection) {
    this.#transport = transport;
    this.#connection = connection;
  }

  /** Clock of the API server, compared with that of this machine. */
  get serverClock(): ServerClock {
    return this.#transport.serverClock;
  }

  /** Namespace of the service, if the connection knows it. */
  get namespace(): string | undefined {
    return this.#connection.namespace;
  }

  /** Calls back like `Transport.onRecovery`. */
  onRecovery(callback: (outageMs: number) => void): () => void {
    return this.#transport.onRecovery(callback);
  }

  /**
   * Returns the decoded body of a success.
   *
   * @throws UpstreamError the API server's own Status, except for 401, 403 and failures of the API server; never for another body
   * @throws StatusError 503 if the API server cannot be reached, fails, answers no JSON and no Status, or refuses the credential or the call; 504 after
   * `kubernetes.requestTimeout`
   */
  request(call: ApiCall): Promise<unknown> {
    return this.#authorized((authorization) => this.#transport.json(call, { authorization }));
  }

  /** Returns a success with its body unread. The caller has to read or destroy it. */
  stream(call: StreamCall): Promise<UpstreamResponse> {
    return this.#authorized((authorization) => this.#transport.stream(call, { authorization }));
  }

  async #authorized<T>(send: (authorization: string | undefined) => Promise<T>): Promise<T> {
    try {
      return await asOwnAccount(this.#connection, send);
    } catch (error) {
      // Messages of its internal errors name hosts behind it, and are about a call of the service, not of the caller.
      throw isRefusal(error, 401, 403) || isFailure(error) ? ownAccountRefused(error) : error;
    }
  }
}

const isFailure = (error: unknown): error is UpstreamError =>
  error instanceof UpstreamError && (!error.isStated || error.status.code >= 500);

/**
 * Sends a call with the service's own credential. A refused credential is read again, and the call repeated: the API server has not
 * executed it, so that any call can be repeated.
 *
 * @throws UpstreamError the refusal of the API server; 401 if it refuses the new credential, too
 * @throws StatusError 503 if the credential cannot be read
 */
export async function asOwnAccount<T>(connection: Connection, send: (authorization: string | undefined) => Promise<T>): Promise<T> {
  const first = await authorizationOf(connection);
  try {
    return await send(first);
  } catch (error) {
    if (!isRefusal(error, 401)) throw error;
    connection.discardAuthorization(first);
    const second = await authorizationOf(connection);
    if (second === first) throw error;
    return await send(second);
  }
}

async function authorizationOf(connection: Connection): Promise<string | undefined> {
  try {
    return await connection.authorization();
  } catch (cause) {
    throw serviceUnavailable('kubernetes', { cause });
  }
}

/** Returns a 503 for a refusal of the service's own account. The refusal itself would tell callers something untrue about themselves. */
export const ownAccountRefused = (cause: unknown): StatusError => {
  const missing = rightMissing(cause);
  if (missing !== undefined) return missing;
  const retryAfterMs = cause instanceof UpstreamError ? cause.retryAfterMs : undefined;
  const wait = retryAfterMs === undefined ? {} : { retryAfterSeconds: wholeRetrySeconds(retryAfterMs) };
  return serviceUnavailable('kubernetes', { cause, ...wait });
};

/**
 * @see https://github.com/kubernetes/kubernetes/blob/master/staging/src/k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go
 */
const denial =
  /^[a-z0-9.]{1,320} (?:"([^"]{1,320})" )?is forbidden: .*" cannot (\S{1,64}) resource "([a-z]{1,63}(?:\/[a-z.]{1,80})?)" in API group "([a-z0-9.]{0,253})"( at the cluster scope)?/;

/** Returns the permission that the authorizer denied, undefined for another refusal, such as one of an admission policy. */
function deniedRight(error: unknown): DeniedRight | undefined {
  if (!isRefusal(error, 403)) return undefined;
  const [, name, verb, resource, group, scope] = denial.exec(error.status.message) ?? [];
  if (verb === undefined || resource === undefined || group === undefined) return undefined;
  return { verb, resource, group, name, isClusterWide: scope !== undefined };
}

/** Returns a 503 that names the manifest to apply if the API server denied the service a permission, undefined for any other failure. */
function rightMissing(error: unknown): StatusError | undefined {
  const right = deniedRight(error);
  if (right === undefined) return undefined;
  const verb = right.verb.replace(/:.*/, '');
  const [resource = ''] = right.resource.split('/');
  const message = `the service's account may not ${verb} them; ${commandGranting(right)}`;
  return installationIncomplete({ group: right.group, resource }, 'RightsMissing', message, error);
}

/** Returns a 503 that names the manifest of a resource that the API server does not know. */
export const definitionMissing = (target: GroupResource, error?: unknown): StatusError =>
  installationIncomplete(target, 'DefinitionMissing', `the cluster does not have the definition; ${definitionsCommand}`, error);

/** Reports whether an error is that of `definitionMissing`. */
export const isNotInstalled = (error: unknown): error is StatusError =>
  error instanceof StatusError && (error.status.details?.causes?.some(({ reason }) => reason === 'DefinitionMissing') ?? false);

/** Returns the 503 for a failed list or watch that no retry cures, undefined for another failure. */
export const watchRefusal = (error: unknown): StatusError | undefined =>
  isNotInstalled(error) ? error : rightMissing(upstreamRefusal(error));

const groupList = z.object({
  kind: z.literal('APIGroupList'),
  groups: z.array(z.object({ name: z.string(), versions: z.array(z.object({ version: z.string() })) })),
});
const resourceList = z.object({
  kind: z.literal('APIResourceList'),
  groupVersion: z.string(),
  resources: z.array(z.object({ name: z.string() })),
});

interface Discovering {
  client: ServiceClient;
  signal: AbortSignal;
}

/**
 * Sends a call for a resource that may not be installed. The 404 of the API server for an unknown path is plain text, which a proxy may send
 * as well, so that discovery is asked.
 *
 * @throws StatusError 503 that satisfies `isNotInstalled` if the API server states it or its discovery proves it; other errors of the call
 */
export async function whileInstalled<T>(discovering: Discovering, type: ResourceType, send: () => Promise<T>): Promise<T> {
  try {
    return await send();
  } catch (error) {
    const answer = answerOf(error);
    if (isUnknownResource(error)) throw definitionMissing(type, error);
    if (answer?.isUnknownPathText && !(await isServed(discovering, type))) throw definitionMissing(type, answer);
    throw error;
  }
}

/** @throws StatusError 503 if discovery is no proof */
async function isServed({ client, signal }: Discovering, { group, version, resource }: ResourceType): Promise<boolean> {
  const read = async <T>(path: string, schema: z.ZodType<T>): Promise<T> => {
    const { data, error } = schema.safeParse(await client.request({ call: 'discover resources', method: 'GET', path, signal }));
    if (data === undefined) throw serviceUnavailable('kubernetes', { cause: error });
    return data;
  };
  if (group !== '') {
    const { groups } = await read(groupsPath, groupList);
    if (!groups.some(({ name, versions }) => name === group && versions.some((served) => served.version === version))) return false;
  }
  const groupVersion = group === '' ? version : `${group}/${version}`;
  const list = await read(group === '' ? `/api/${version}` : `/apis/${groupVersion}`, resourceList);
  return list.groupVersion !== groupVersion || list.resources.some(({ name }) => name === resource);
}
