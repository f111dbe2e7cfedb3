import { expect } from 'chai';
import type { Person } from '../../support/api-server.ts';
import { eventually, type Manifest } from '../../support/cluster-admin.ts';
import type { TestServer } from '../../support/server.ts';
import { aNamespace, applyKnown } from '../bindings/support.ts';
import { aUser, nameOf } from '../users/a-user.ts';

export const policiesPath = '/apis/auth.platform.io/v1/accesspolicies';
export const requestsPath = '/apis/auth.platform.io/v1/accessrequests';
export const mergePatch = { 'content-type': 'application/merge-patch+json' };

interface Subject {
  kind: 'User' | 'Group';
  name: string;
}

export const user = (name: string): Subject => ({ kind: 'User', name });

/** Returns a policy by which jane may ask for `view` in the namespace `shop`, and carl decides. */
export const aPolicy = (name: string, spec: Record<string, unknown> = {}): Manifest => ({
  apiVersion: 'auth.platform.io/v1',
  kind: 'AccessPolicy',
  metadata: { name },
  spec: {
    subjects: [user('jane@example.com')],
    roleRefs: ['view'],
    scope: { namespaces: { names: ['shop'] } },
    maxSeconds: 3600,
    approvals: 1,
    approvers: [user('carl@example.com')],
    ...spec,
  },
});

/** Returns a request of jane as the service stores it. */
export const aRequest = (name: string, spec: Record<string, unknown> = {}): Manifest => ({
  apiVersion: 'auth.platform.io/v1',
  kind: 'AccessRequest',
  metadata: { name },
  spec: {
    requester: 'jane@example.com',
    record: nameOf('jane@example.com'),
    recordUID: 'u-1',
    policy: { name: 'shop', uid: 'p-1', generation: 1 },
    subject: user('jane@example.com'),
    roleRef: 'view',
    roleUID: 'r-1',
    scope: 'namespace',
    namespaces: ['shop'],
    reason: 'the shop is down',
    durationSeconds: 600,
    approvals: 1,
    ...spec,
  },
});

export interface Request {
  metadata: { name: string; uid: string };
  spec: Record<string, unknown>;
  status?: {
    phase?: string;
    reason?: string;
    begin?: string;
    until?: string;
    binding?: string;
    ended?: string;
    review?: { by: string; record: string; comment?: string; time: string };
    rulesHash?: string;
    rulesChangedAt?: string;
    decisions?: { by: string; record: string; approve: boolean; isVoid: boolean; comment?: string }[];
    notices?: { event: string; outcome: string }[];
  };
}

export interface Refusal {
  code: number;
  message: string;
  details?: { causes?: { reason: string; field?: string; message: string }[] };
}

export interface Told<Body> {
  status: number;
  body: Body;
}

export const reasonsOf = ({ body }: Told<Request & Refusal>): string[] => (body.details?.causes ?? []).map(({ reason }) => reason);
export const fieldsOf = ({ body }: Told<Request & Refusal>): (string | undefined)[] =>
  (body.details?.causes ?? []).map(({ field }) => field);

/** A caller: a person, or the token of one; at another replica than the first. */
export interface CallOptions {
  as?: Person;
  token?: string;
  at?: string;
  headers?: Record<string, string>;
}

const reason = 'the shop is down';

/** Requests of people at the service, and the objects in the cluster. */
export class AccessRequests {
  readonly #server: Pick<TestServer, 'request' | 'kubernetes'>;

  constructor(server: Pick<TestServer, 'request' | 'kubernetes'>) {
    this.#server = server;
  }

  async call(method: string, path: string, options: CallOptions & { body?: unknown }): Promise<Told<Request & Refusal>> {
    const answer = await this.#server.request(path, { method, ...options });
    return { status: answer.status, body: (await answer.json()) as Request & Refusal };
  }

  ask(options: CallOptions, spec: Record<string, unknown> = {}): Promise<Told<Request & Refusal>> {
    const body = { policy: 'shop', roleRef: 'view', scope: 'namespace', namespaces: ['shop'], reason, durationSeconds: 600, ...spec };
    for (const key of Object.keys(body)) if (spec[key] === null) Reflect.deleteProperty(body, key);
    return this.call('POST', '/auth/v1/accessrequests', { ...options, body });
  }

  /** Asks, and requires that the request is made. */
  async asked(options: CallOptions, spec: Record<string, unknown> = {}): Promise<Request> {
    const answer = await this.ask(options, spec);
    expect(answer.status, JSON.stringify(answer.body)).to.equal(201);
    return answer.body;
  }

  decide(options: CallOptions, { metadata: { name } }: Request, approve = true): Promise<Told<Request & Refusal>> {
    return this.call('POST', `/auth/v1/accessrequests/${name}/decision`, { ...options, body: { approve } });
  }

  end(options: CallOptions, { metadata: { name } }: Request): Promise<Told<Request & Refusal>> {
    return this.call('POST', `/auth/v1/accessrequests/${name}/end`, options);
  }

  /** Reads a request from the cluster. */
  async stored({ metadata: { name } }: Request): Promise<Request> {
    return (await this.#server.kubernetes.call('GET', `${requestsPath}/${name}`)).body as Request;
  }

  untilPhase(request: Request, phase: string): Promise<Request> {
    return eventually(
      () => this.stored(request),
      ({ status }) => status?.phase === phase,
    );
  }

  /** Creates policies, and waits until the service has written their status. */
  async apply(...policies: readonly Manifest[]): Promise<void> {
    await this.#server.kubernetes.apply(...policies);
    for (const { metadata } of policies) {
      await eventually(
        () => this.#server.kubernetes.call('GET', `${policiesPath}/${metadata.name}`),
        ({ body }) => JSON.stringify(body).includes('"type":"Ready"'),
      );
      await this.untilKnown(metadata.name);
    }
  }

  /** Waits until the first replica knows a policy. */
  async untilKnown(name: string): Promise<void> {
    await eventually(
      () => this.#server.request(`/auth/v1/accesspolicies/${name}`, { as: 'admin' }),
      ({ status }) => status === 200,
    );
  }
}

/** Creates the users alice and bob, and a policy by which bob decides on requests of alice for `view` in the namespace `shop`. */
export async function aliceAsksBob(server: TestServer): Promise<AccessRequests> {
  const access = new AccessRequests(server);
  await server.kubernetes.apply(aNamespace('shop'));
  await applyKnown(server, ...['alice', 'bob'].map((name) => aUser(`${name}@example.com`, { subjectName: name })));
  await access.apply(aPolicy('shop', { subjects: [user('alice')], approvers: [user('bob')] }));
  return access;
}
