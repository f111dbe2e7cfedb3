/** Mail that reminds owners of a review. */
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { freePort } from '../../support/free-port.ts';
import { startServer } from '../../support/server.ts';
import { aBinding, aNamespace, aRole, podRule } from '../access/objects.ts';
import { applyKnown } from '../bindings/support.ts';
import { MailServer } from '../one-time-links/mail-server.ts';
import { ServiceAuthority } from '../plugins/plugin-service.ts';
import { aUser } from '../users/a-user.ts';
import { Reviews } from './support.ts';

describe('mail about a review of bindings', () => {
  const free = forSuite(
    async () => ({ port: await freePort(), ...(await (await ServiceAuthority.create()).issue('localhost')) }),
    () => undefined,
  );
  const mailServer = forSuite(
    () => MailServer.start({ port: free.port, key: free.key, cert: free.cert, offersTLS: false }),
    (one) => one.stop(),
  );
  const server = forSuite(() =>
    startServer({
      config: {
        features: { accessRequests: true },
        server: { publicURL: 'https://console.example.com' },
        smtp: { host: '127.0.0.1', port: free.port, tls: 'none', from: 'Atrium <no-reply@example.com>' },
      },
    }),
  );

  before(async () => {
    const rules = [{ apiGroups: ['rbac.authorization.k8s.io'], resources: ['rolebindings'], verbs: ['get', 'list', 'update'] }];
    await server.kubernetes.apply(
      aNamespace('shop'),
      aRole('reads', [podRule(['get'])]),
      aRole('binding-owner', rules),
      aBinding('owners', { role: 'binding-owner', to: ['User:alice', 'Group:platform'], namespace: 'shop' }),
      aBinding('readers', { role: 'reads', to: 'User:viewer', namespace: 'shop' }),
    );
    await applyKnown(
      server,
      aUser('alice@example.com', { subjectName: 'alice' }),
      aUser('bob@example.com', { subjectName: 'bob', groups: ['platform'] }),
      aUser('viewer@example.com', { subjectName: 'viewer' }),
    );
    await eventually(
      () =>
        server
          .request('/auth/v1/accesssubjects?verb=update&group=rbac.authorization.k8s.io&resource=rolebindings&namespace=shop', {
            as: 'admin',
          })
          .then((answer) => answer.text()),
      (text) => text.includes('"alice"') && text.includes('"bob"'),
    );
  });

  it('goes to the users who may update the bindings, and to members of their groups', async () => {
    await new Reviews(server).begin('shop');
    const mails = await eventually(
      async () => mailServer.mails,
      (taken) => taken.length >= 2,
    );
    expect(mails.flatMap(({ to }) => to).sort()).to.deep.equal(['alice@example.com', 'bob@example.com']);
    for (const { body, link } of mails) {
      expect(body).to.include('Bindings in shop wait for an answer of their owners');
      expect(link).to.equal('https://console.example.com/explorer/standing');
    }
  });
});
