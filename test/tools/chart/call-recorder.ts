import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { request } from 'undici';
import { z } from 'zod';
import { requestInfo } from '../../../packages/embedded-cluster/src/request-info.ts';
import { Trusting } from '../../support/trusting.ts';

/** Permission that a call of an account requires. */
export interface Need {
  verb: string;
  /** Resource with group and subresource, such as `users.auth.platform.io/status`. */
  resource: string;
  namespace: string;
  /** Empty if a call names no object. */
  name: string;
}

interface Target {
  url: string;
  certificateAuthority: string;
}

/** Proxy in front of an API server that records the permissions that an account's calls require. */
export class CallRecorder {
  readonly needs: Need[] = [];
  readonly #target: Target;
  readonly #agent: Trusting;
  readonly #server: Server;
  readonly #authorization: string;

  constructor(target: Target, token: string) {
    this.#target = target;
    this.#agent = new Trusting(target.certificateAuthority);
    this.#authorization = `Bearer ${token}`;
    this.#server = createServer((incoming, outgoing) => {
      this.#relay(incoming, outgoing).catch(() => outgoing.destroy());
    });
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    await this.#agent.destroy();
  }

  async #relay(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method = '', url = '', headersDistinct: headers } = incoming;
    const body: Buffer = Buffer.concat(await incoming.toArray());
    if (headers.authorization?.[0] === this.#authorization) this.needs.push(...needsOf(incoming, body));
    const { host: _, connection: __, 'transfer-encoding': ___, 'content-length': ____, ...passed } = headers;
    const stopped = new AbortController();
    outgoing.on('close', () => stopped.abort());
    const answer = await request(`${this.#target.url}${url}`, {
      method: method as 'GET',
      headers: passed,
      body: ['GET', 'HEAD'].includes(method) ? null : body,
      dispatcher: this.#agent,
      signal: stopped.signal,
      bodyTimeout: 0,
    });
    outgoing.writeHead(answer.statusCode, answer.headers);
    outgoing.flushHeaders();
    await pipeline(answer.body, outgoing);
  }
}

const impersonated = {
  'impersonate-user': 'users',
  'impersonate-group': 'groups',
  'impersonate-uid': 'uids.authentication.k8s.io',
  'impersonate-extra-atrium.platform.io%2factor': 'userextras.authentication.k8s.io/atrium.platform.io/actor',
};

/** A JSON Patch that removes members of a Group. */
const takingOut = z
  .array(z.looseObject({ path: z.string() }))
  .refine((operations) => operations.some(({ path }) => path.startsWith('/spec/users')));

/** Further permissions that admission requires, by verb and resource of a call; undefined if the call requires none. */
const besides: Readonly<Record<string, (body: unknown, need: Need) => Pick<Need, 'verb' | 'resource' | 'name'> | undefined>> = {
  'update certificatesigningrequests.certificates.k8s.io/approval': (body) => {
    const name = z.object({ spec: z.object({ signerName: z.string() }) }).parse(body).spec.signerName;
    return { verb: 'approve', resource: 'signers.certificates.k8s.io', name };
  },
  'create rolebindings.rbac.authorization.k8s.io': bindOf,
  'create clusterrolebindings.rbac.authorization.k8s.io': bindOf,
  // The chart's admission policy requires this.
  'patch groups.auth.platform.io': (body, { name }) =>
    takingOut.safeParse(body).success ? { verb: 'delete', resource: 'groups.auth.platform.io/members', name } : undefined,
};

function bindOf(body: unknown) {
  const { name } = z.object({ roleRef: z.object({ kind: z.literal('ClusterRole'), name: z.string() }) }).parse(body).roleRef;
  return { verb: 'bind', resource: 'clusterroles.rbac.authorization.k8s.io', name };
}

function needsOf({ method = '', url = '', headersDistinct: headers }: IncomingMessage, body: Buffer): Need[] {
  if (headers['impersonate-user'] !== undefined) {
    return Object.entries(impersonated).flatMap(([header, resource]) =>
      (headers[header] ?? []).map((name) => ({ verb: 'impersonate', resource, namespace: '', name })),
    );
  }
  const { isResource, verb, group = '', resource = '', subresource, namespace = '', name = '', path } = requestInfo(method, url);
  if (!isResource) return [{ verb, resource: path, namespace: '', name: '' }];
  const need = { verb, resource: `${qualified(resource, group)}${subresource ? `/${subresource}` : ''}`, namespace, name };
  const asked = besides[`${need.verb} ${need.resource}`]?.(JSON.parse(body.toString()), need);
  return asked === undefined ? [need] : [need, { ...asked, namespace: '' }];
}

export const qualified = (resource: string, group: string) => (group === '' ? resource : `${resource}.${group}`);

/** Returns a text such as `update secrets atrium-keys in atrium-system`. */
export const textOf = ({ verb, resource, namespace, name }: Need): string =>
  [verb, resource, name, namespace && `in ${namespace}`].filter(Boolean).join(' ');
