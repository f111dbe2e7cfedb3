import { expect } from 'chai';
import { after, afterEach, before, describe, it } from 'mocha';
import { type ClusterAdmin, eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { startFaultyServer } from '../../support/faulty-server.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { authorize, decide, issuedBy, mayHaveCertificates, refusal, requestsLeft, untilNoneLeft } from './authorize.ts';

const nobodysSigner = 'example.com/nobody-signs-here';

async function start(certificates: Record<string, unknown>): Promise<TestServer> {
  // Caches are long, so that a delay by the test causes no timeout on a slow machine.
  const server = await startServer({ config: { users: { certificates }, kubernetes: { accessCache: '10m' } } });
  await mayHaveCertificates(server.kubernetes, 'alice');
  return server;
}

/** Grants the service account the permissions for another signer, and waits until they take effect. */
async function letApprove(kubernetes: ClusterAdmin, signerName: string): Promise<void> {
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'atrium-other-signer' };
  const rules = [{ apiGroups: ['certificates.k8s.io'], resources: ['signers'], resourceNames: [signerName], verbs: ['approve'] }];
  const subjects = [{ kind: 'ServiceAccount', name: 'atrium', namespace: serviceNamespace }];
  const of = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name: roleRef.name } };
  await kubernetes.apply({ ...of, kind: 'ClusterRole', rules }, { ...of, kind: 'ClusterRoleBinding', roleRef, subjects });
  const resourceAttributes = { group: 'certificates.k8s.io', resource: 'signers', name: signerName, verb: 'approve' };
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { user: `system:serviceaccount:${serviceNamespace}:atrium`, resourceAttributes },
  };
  await eventually(
    () => kubernetes.call('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', review),
    ({ body }) => JSON.stringify(body).includes('"allowed":true'),
  );
}

describe('the signer of certificates', () => {
  let server: TestServer;

  const names = async () => (await requestsLeft(server)).map(({ metadata }) => metadata.name);
  /** Requests a certificate, and returns when the request exists and its answer is held back; the test must release the answers. */
  const askedInSilence = async (signal?: AbortSignal): Promise<{ answer: Promise<unknown>; name: string }> => {
    const token = await server.token('alice');
    const ask = async (rest: { signal?: AbortSignal } = {}) => {
      const response = await server.request('/auth/v1/authorize', { method: 'POST', token, body: {}, ...rest });
      return response.status === 201 ? 'issued' : refusal(response);
    };
    for (let attempt = 1; ; attempt += 1) {
      // The first call usually fills the caches, so that the next one requests the certificate at once.
      await eventually(ask, (told) => told === 'issued');
      // On a slow machine an abandoned request may still exist, approved already.
      const earlier = await names();
      server.relay.holdAnswers();
      const answer = ask(signal && { signal }).catch((error: unknown) => error);
      try {
        const isNew = (name: string) => !earlier.includes(name);
        const [name = ''] = (await eventually(names, (found) => found.some(isNew), 8_000)).filter(isNew);
        return { answer, name };
      } catch (error) {
        server.relay.releaseAnswers();
        await answer;
        if (attempt === 5) throw error;
      }
    }
  };

  describe('of the cluster', () => {
    before(async () => {
      server = await start({});
    });
    after(() => server.stop());

    it('CRT-05 causes 403 when it denies, and leaves nothing', async () => {
      const { answer, name } = await askedInSilence();
      try {
        const denied = await decide(server.kubernetes, name, 'approval', 'Denied');
        expect(denied.status).to.equal(200);
      } finally {
        server.relay.releaseAnswers();
      }

      expect(await answer).to.include({ code: 403, message: 'the cluster denies the certificate' });
      await untilNoneLeft(server);
    });

    it('CRT-05 serves many at once, and nothing is left', async () => {
      const one = async () => {
        // On a busy machine the last ones are asked to retry.
        const response = await eventually(
          () => authorize(server, 'alice'),
          ({ status }) => status !== 504,
        );
        return issuedBy(response);
      };
      const certificates = await Promise.all(Array.from({ length: 50 }, one));

      expect(new Set(certificates.map(({ status }) => status.serialNumber))).to.have.property('size', 50);
      await untilNoneLeft(server);
    });

    it('CRT-05 leaves nothing behind for a caller who goes away', async () => {
      const abort = new AbortController();
      const { answer } = await askedInSilence(abort.signal);
      try {
        abort.abort();
        expect(await answer).to.be.instanceOf(Error);
      } finally {
        server.relay.releaseAnswers();
      }

      await untilNoneLeft(server);
    });
  });

  describe('that is missing', () => {
    before(async () => {
      server = await start({ signerName: nobodysSigner });
    });
    after(() => server.stop());
    afterEach(() => untilNoneLeft(server));

    it('is 503 while the service may not approve at it', async () => {
      expect((await refusal(await authorize(server, 'alice'))).code).to.equal(503);
    });

    it('CRT-05 causes 503 when a request fails', async () => {
      await letApprove(server.kubernetes, nobodysSigner);
      const answer = authorize(server, 'alice').then(refusal);
      const [approved] = await eventually(
        async () => (await requestsLeft(server)).filter(({ status }) => status.conditions.length > 0),
        ({ length }) => length > 0,
      );
      if (approved) await decide(server.kubernetes, approved.metadata.name, 'status', 'Failed', approved.status.conditions);

      expect((await answer).code).to.equal(503);
    });

    it('CRT-05 causes 504 when no answer comes', async () => {
      const response = await authorize(server, 'alice');

      expect(response.headers.get('retry-after')).to.equal('1');
      expect((await refusal(response)).code).to.equal(504);
    });
  });

  it('CRT-05 leaves nothing behind where the API server fails at the first deletion', async () => {
    const faulty = await startFaultyServer();
    server = faulty;
    try {
      await mayHaveCertificates(server.kubernetes, 'alice');
      let failures = 0;
      faulty.faults.inject(
        ({ response }) => {
          failures += 1;
          response.writeHead(500).end();
          faulty.faults.mend();
        },
        ({ method, path }) => method === 'DELETE' && path.includes('/certificatesigningrequests/'),
      );

      expect((await authorize(server, 'alice')).status).to.equal(201);
      expect(failures).to.equal(1);
      await untilNoneLeft(server);
    } finally {
      await server.stop();
    }
  });

  it('is not asked with users.certificates.enabled: false: 404 names the setting, to those who are logged in', async () => {
    server = await start({ enabled: false });
    try {
      const response = await authorize(server, 'alice');
      expect(response.headers.has('retry-after')).to.equal(false);
      expect([response.status, await response.json()]).to.deep.equal([
        404,
        {
          kind: 'Status',
          apiVersion: 'v1',
          metadata: {},
          status: 'Failure',
          message: 'client certificates are disabled (users.certificates.enabled)',
          reason: 'NotFound',
          code: 404,
        },
      ]);
      await untilNoneLeft(server);
      expect((await server.request('/auth/v1/authorize', { method: 'POST', body: {} })).status).to.equal(401);
    } finally {
      await server.stop();
    }
  });
});
