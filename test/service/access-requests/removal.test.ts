/** The end of access while the API server refuses to delete its UserBinding. */
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { FaultProxy, type ProxiedRequest, refuse } from '../../cluster/faults/fault-proxy.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { bindingsPath } from '../bindings/support.ts';
import { type AccessRequests, aliceAsksBob, policiesPath } from './support.ts';

describe('access whose UserBinding cannot be deleted', () => {
  let faults: FaultProxy;
  let access: AccessRequests;
  const server = forSuite(() =>
    startServer({
      config: { features: { accessRequests: true } },
      async between({ url, certificateAuthority, serving }) {
        faults = await FaultProxy.start({ target: url, certificateAuthority, serving });
        return faults;
      },
    }),
  );
  before(async () => {
    access = await aliceAsksBob(server);
  });

  it('is recorded as ended once, however often the deletion is tried (teleport 64355)', async () => {
    const request = await access.asked({ as: 'alice' });
    expect((await access.decide({ as: 'bob' }, request)).body.status).to.include({ phase: 'Active' });
    const binding = `${bindingsPath}/ar-${request.metadata.uid}`;
    const isDeletion = ({ method, path }: ProxiedRequest) => method === 'DELETE' && path === binding;
    const endings = () =>
      server.auditLines
        .map((line) => JSON.parse(line))
        .filter(({ audit, target }) => audit === 'AccessEnded' && target === request.metadata.name);
    faults.inject(refuse(500, 'InternalError'), isDeletion);
    await server.kubernetes.remove(`${policiesPath}/shop`);
    await eventually(
      async () => faults.requests.filter(isDeletion).length,
      (tries) => tries >= 3,
    );
    expect((await access.stored(request)).status).to.include({ phase: 'Ended', reason: 'PolicyChanged' });
    expect(endings()).to.have.lengthOf(1);

    faults.mend();
    await eventually(
      () => server.kubernetes.call('GET', binding),
      ({ status }) => status === 404,
    );
    expect(endings()).to.have.lengthOf(1);
  });
});
