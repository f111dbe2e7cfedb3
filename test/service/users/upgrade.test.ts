import { expect } from 'chai';
import { eventually, type Manifest } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { ApiServerBetween } from '../proxy/api-server-between.ts';
import { aUser, nameOf } from './a-user.ts';

interface Condition {
  type: string;
  observedGeneration?: number;
}

interface User {
  metadata: { name: string; generation: number };
  status?: { observedGeneration?: number; conditions?: Condition[] };
}

const users = '/apis/auth.platform.io/v1/users';
const merge = { 'content-type': 'application/merge-patch+json' };

describe('the status of users after an upgrade', () => {
  const between = new ApiServerBetween();
  /** Names of users whose status the service has written. */
  const written: string[] = [];
  const server = forSuite(() => startServer({ between: between.start }));
  const read = async (name: string) => (await server.kubernetes.call('GET', `${users}/${name}`)).body as User;
  /** Creates a user like `kubectl apply`: without a status. */
  const apply = async (email: string, spec: Record<string, unknown> = {}) => {
    const { status: _status, ...user } = aUser(email);
    await server.kubernetes.apply({ ...user, spec: { ...(user.spec as object), ...spec } } as Manifest);
  };
  const untilWritten = (email: string) =>
    eventually(
      () => read(nameOf(email)),
      ({ metadata, status }) => status?.conditions !== undefined && status.observedGeneration === metadata.generation,
    );

  before(() => {
    between.onForward = ({ method, url = '' }) => {
      const [, name] = /^\/apis\/auth\.platform\.io\/v1\/users\/([^/]+)\/status/.exec(url) ?? [];
      if (method === 'PATCH' && name !== undefined) written.push(name);
    };
  });

  it('is not written as long as nothing changes, also where conditions are of a version without observedGeneration', async () => {
    const [same, earlier, disabled] = ['same@example.com', 'earlier@example.com', 'disabled@example.com'];
    for (const email of [same, earlier]) await apply(email);
    await apply(disabled, { is_disabled: true });
    for (const email of [same, earlier, disabled]) await untilWritten(email);
    await server.stopFirst();
    for (const email of [earlier, disabled]) {
      const { status } = await read(nameOf(email));
      const conditions = status?.conditions?.map(({ observedGeneration: _, ...condition }) => condition);
      const answer = await server.kubernetes.call('PATCH', `${users}/${nameOf(email)}/status`, { status: { conditions } }, merge);
      expect(answer.status).to.equal(200);
    }
    written.length = 0;

    const replica = await server.replica();
    // The users that exist at the start are reconciled before one that is made later.
    await apply('later@example.com');
    await untilWritten('later@example.com');
    expect([...new Set(written)]).to.deep.equal([nameOf('later@example.com')]);

    await apply(earlier, { is_disabled: true });
    const { status } = await eventually(
      () => read(nameOf(earlier)),
      (user) => user.status?.observedGeneration === user.metadata.generation,
    );
    expect(new Set(status?.conditions?.map(({ observedGeneration }) => observedGeneration))).to.deep.equal(
      new Set([status?.observedGeneration]),
    );
    await replica.stop();
  });
});
