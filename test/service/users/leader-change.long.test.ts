import type { ServerResponse } from 'node:http';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import type { KubernetesClient } from '@atrium/kubernetes/kubernetes-client.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { clientOf, FakeApiServer, json, type SeenRequest, silentLog, status } from '../../../packages/kubernetes/test/fake-api-server.ts';
import { until } from '../../../packages/kubernetes/test/watch-fixture.ts';
import { createEndAccess } from '../../../src/revocation/end-access.ts';
import { UsersController } from '../../../src/users/record/controller.ts';
import { userLabels } from '../../../src/users/record/labels.ts';
import { accountLookup } from '../../../src/users/record/lookup.ts';
import { watchUsers } from '../../../src/users/users.ts';
import { servicesOf } from '../../support/services.ts';
import { nameOf } from './a-user.ts';

const userCount = 100_000;
const usersPath = '/apis/auth.platform.io/v1/users';
const emailOf = (index: number) => `p${index}@example.com`;
const isSo = ['Ready', 'Enabled', 'Unlocked', 'SourceFound', 'PasswordSet', 'Canonical'];
const since = new Date(Date.now() - 3_600_000).toISOString().replace(/\.\d+Z$/, 'Z');

type User = KubernetesObject & { spec: Record<string, unknown>; status: Record<string, unknown> };

/** Returns a user without pending writes, whose phase changes after months without a login. */
function settledUser(index: number): User {
  const email = emailOf(index);
  const spec = { email, username: `p${index}`, connector_type: 'local', connector_id: 'local', connector_name: 'Local', is_admin: false };
  const metadata = { name: nameOf(email), uid: `uid-${index}`, resourceVersion: '1', generation: 1, creationTimestamp: since };
  const conditions = isSo.map((type) => ({
    type,
    status: 'True',
    reason: 'AsExpected',
    message: '',
    observedGeneration: 1,
    lastTransitionTime: since,
  }));
  return {
    apiVersion: 'auth.platform.io/v1',
    kind: 'User',
    metadata: { ...metadata, labels: userLabels(spec) },
    spec,
    status: { phase: 'Normal', observedGeneration: 1, subjectName: email, groups: [], passwordChangedTime: since, conditions },
  };
}

/** An API server with users and one Lease, which another replica holds at first. */
class UserServer extends FakeApiServer {
  readonly users = new Map<string, User>();
  /** Writes of users: `PATCH name/status`. */
  readonly writes: string[] = [];
  /** Statuses of the next answers to writes, by user name. */
  readonly refusals = new Map<string, number[]>();
  lease: { metadata: { resourceVersion: string }; spec: Record<string, unknown> } = {
    metadata: { resourceVersion: '1' },
    spec: { holderIdentity: 'another' },
  };
  #version = 1;
  #watch: ServerResponse | undefined;

  override async start(): Promise<this> {
    this.answer((request, response) => this.#answerTo(request, response));
    return super.start();
  }

  /** Stores the next version of a user, and sends it to the watch. */
  put(user: User): void {
    this.#version += 1;
    const written = { ...user, metadata: { ...user.metadata, resourceVersion: String(this.#version) } };
    this.users.set(user.metadata.name, written);
    this.#tell('MODIFIED', written);
  }

  remove(user: User): void {
    this.#version += 1;
    this.users.delete(user.metadata.name);
    this.#tell('DELETED', { ...user, metadata: { ...user.metadata, resourceVersion: String(this.#version) } });
  }

  /** Changes the holder of the Lease; an empty name releases it. */
  writeLease(holderIdentity: string): void {
    this.lease = { metadata: { resourceVersion: `${Number(this.lease.metadata.resourceVersion) + 1}` }, spec: { holderIdentity } };
  }

  #tell(type: string, object: User): void {
    this.#watch?.write(`${JSON.stringify({ type, object })}\n`);
  }

  #answerTo(request: SeenRequest, response: ServerResponse): void {
    const { method, path, query, body } = request;
    const [, name] = path.split(`${usersPath}/`);
    if (path.includes('/leases/')) this.#answerLease(method, body, response);
    else if (name !== undefined) this.#write(`${method} ${name}`, JSON.parse(body), response);
    else if (path !== usersPath) status(response, 404, 'NotFound');
    else if (query.has('watch')) this.#follow(response);
    else this.#list(query, response);
  }

  #follow(response: ServerResponse): void {
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.flushHeaders();
    this.#watch = response;
  }

  #list(query: URLSearchParams, response: ServerResponse): void {
    const from = Number(query.get('continue') ?? 0);
    const items = [...this.users.values()].slice(from, from + 500);
    const next = from + 500 < this.users.size ? { continue: String(from + 500) } : {};
    json(response, 200, { kind: 'UserList', metadata: { resourceVersion: String(this.#version), ...next }, items });
  }

  /** @param write `PATCH name/status` */
  #write(write: string, body: Partial<User>, response: ServerResponse): void {
    const [, name = ''] = /^\w+ ([^/]+)/.exec(write) ?? [];
    const user = this.users.get(name);
    this.writes.push(write);
    const refusal = this.refusals.get(name)?.shift() ?? (user === undefined ? 404 : undefined);
    if (refusal === undefined && user !== undefined) this.put({ ...user, status: { ...user.status, ...body.status } });
    if (refusal === undefined) json(response, 200, this.users.get(name));
    else status(response, refusal, 'Refused');
  }

  #answerLease(method: string, body: string, response: ServerResponse): void {
    const given = method === 'GET' ? undefined : (JSON.parse(body) as typeof this.lease);
    const isOld = given !== undefined && given.metadata.resourceVersion !== this.lease.metadata.resourceVersion;
    if (given !== undefined && !isOld) this.writeLease(String(given.spec.holderIdentity));
    if (isOld) status(response, 409, 'Conflict');
    else json(response, 200, this.lease);
  }
}

describe(`a change of leader with ${userCount} users`, () => {
  let server: UserServer;
  let client: KubernetesClient;
  let watched: ReturnType<typeof watchUsers>;
  let controller: UsersController;
  /** Names of the users that the controller has examined. */
  let looks: string[] = [];

  before(async () => {
    server = await new UserServer().start();
    for (let index = 0; index < userCount; index += 1) {
      const user = settledUser(index);
      server.users.set(user.metadata.name, user);
    }
    client = clientOf(server, 10_000);
    const services = servicesOf(client, { log: silentLog });
    watched = watchUsers(services);
    const users = {
      ...watched.records,
      get(name: string) {
        looks.push(name);
        return watched.records.get(name);
      },
    };
    const endAccess = createEndAccess(services, { revokedTokens: undefined, deleteAccessTokens: undefined });
    const naming = { claims: services.config.login.claims, embeddedIssuer: undefined };
    controller = new UsersController(services, accountLookup(watched.collection.cache), users, { naming, endAccess });
    watched.collection.cache.start();
    await watched.collection.cache.whenSynced();
    // The other replica does not renew its Lease, and must hold it while the users are read.
    controller.start();
  });
  after(async () => {
    await controller.stop();
    await watched.collection.cache.stop();
    await client.close();
    await server.stop();
  });

  const user = (index: number): User => {
    const found = server.users.get(nameOf(emailOf(index)));
    if (found === undefined) throw new Error(`no user ${index}`);
    return found;
  };
  const phase = (index: number) => server.users.get(nameOf(emailOf(index)))?.status.phase;
  const disable = (index: number) => {
    const { metadata, spec, ...rest } = user(index);
    server.put({ ...rest, metadata: { ...metadata, generation: 2 }, spec: { ...spec, is_disabled: true } });
  };
  /** Waits until no user has been examined for a second, in ten parts: a process that was suspended continues after one of them. */
  const untilStill = async () => {
    let seen = looks.length;
    for (let parts = 0; parts < 10; parts += 1) {
      await sleep(100);
      if (seen !== looks.length) parts = -1;
      seen = looks.length;
    }
  };

  it('LIM-12 has each looked at once, a few between two turns of the event loop, and writes nothing', async () => {
    expect(looks).to.deep.equal([]);
    server.writeLease('');
    let most = 0;
    for (let seen = 0; looks.length < userCount; seen = looks.length) {
      await turn();
      most = Math.max(most, looks.length - seen);
    }
    await untilStill();

    expect(new Set(looks).size).to.equal(userCount);
    expect(looks).to.have.length(userCount);
    expect(most).to.be.below(userCount / 50);
    expect(server.writes).to.deep.equal([]);
  });

  it('LIM-12 reconciles no user while nothing changes, and then only the changed one', async () => {
    looks = [];
    await sleep(1_500);
    expect(looks).to.deep.equal([]);

    const { metadata, ...rest } = user(70_000);
    server.put({ ...rest, metadata: { ...metadata, annotations: { note: 'changed' } } });
    await until(() => looks.length > 0);
    await untilStill();
    expect(looks).to.deep.equal([metadata.name]);
    expect(server.writes).to.deep.equal([]);
  });

  it('writes the state of a changed user once, and again after conflicts and failures', async () => {
    const [smooth, contested, broken] = [1, 2, 3] as const;
    server.refusals.set(user(contested).metadata.name, [409]);
    server.refusals.set(user(broken).metadata.name, [500, 503]);
    for (const index of [smooth, contested, broken]) disable(index);
    await until(() => phase(smooth) === 'Disabled' && phase(contested) === 'Disabled' && phase(broken) === 'Disabled');
    await untilStill();

    const countOf = (index: number) => server.writes.filter((write) => write.includes(user(index).metadata.name)).length;
    expect([smooth, contested, broken].map(countOf)).to.deep.equal([1, 2, 3]);
  });

  it('drops a user who is deleted while their status cannot be written', async () => {
    const gone = user(4);
    server.refusals.set(gone.metadata.name, new Array<number>(100).fill(500));
    disable(4);
    await until(() => server.writes.filter((write) => write.includes(gone.metadata.name)).length > 1);
    server.remove(gone);
    await untilStill();
    server.writes.length = 0;
    looks = [];
    await sleep(2_500);

    expect(looks).to.deep.equal([]);
    expect(server.writes).to.deep.equal([]);
  });

  it('reconciles no user once another replica is the leader', async () => {
    server.writeLease('another');
    const before = server.requests.length;
    // The first request finds the new holder; the next one shows that the replica is not the leader.
    const reads = () => server.requests.slice(before).filter(({ path, method }) => method === 'GET' && path.includes('/leases/'));
    await until(() => reads().length > 1);
    looks = [];
    disable(5);
    await sleep(1_500);

    expect(looks).to.deep.equal([]);
    expect(phase(5)).to.equal('Normal');
  });
});
