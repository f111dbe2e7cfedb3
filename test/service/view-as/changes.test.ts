/** Views that write, lose a right or their headers on the way, or are asked for at other operations. */
import { expect } from 'chai';
import { z } from 'zod';
import { App } from '../../../src/app.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { aBinding, bindingPath } from '../access/objects.ts';
import { ApiServerBetween } from '../proxy/api-server-between.ts';
import { asBob, bob, emailOf, kubernetes, listOfMaps, mapsOf, startViews } from './support.ts';

const supported = [
  ...['GetKubernetes', 'PostKubernetes', 'PutKubernetes', 'PatchKubernetes', 'DeleteKubernetes'],
  ...[
    'ListOfferedResources',
    'ListResources',
    'ListNamespacedResources',
    'GetClusterUsage',
    'GetNodeUsage',
    'GetNamespaceUsage',
    'GetObjectUsage',
    'ListNamespaces',
  ],
  ...['CreateSelfSubjectAccessReview', 'CreateSelfSubjectAccessReviewNative', 'CreateSelfSubjectRulesReview'],
  ...['ListUsersNative', 'GetUserNative'],
];

for (const credentials of ['passthrough', 'impersonate'] as const)
  describe(`views that write or end, ${credentials}`, () => {
    const between = new ApiServerBetween();
    const service = forSuite(() =>
      startViews({
        credentials,
        between: between.start,
        kubernetes: { viewAs: 'write', accessCache: '1s' },
        login: { stepUp: { operations: ['viewAsWrites'], maxAge: '1h' } },
      }),
    );
    const map = (name: string) => ({ method: 'POST', body: JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } }) });

    it('VAS-05 VAS-09 are 400 at every other operation, at pages and at the embedded issuer', async () => {
      const document = z.object({ paths: z.record(z.string(), z.record(z.string(), z.object({ operationId: z.string() }))) });
      const { paths } = document.parse(App.describe());
      const operations = Object.entries(paths).flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, { operationId }]) => ({ path, method: method.toUpperCase(), operationId })),
      );
      expect(operations.map(({ operationId }) => operationId)).to.include.members(supported);
      for (const { path, method, operationId } of operations.filter((one) => !supported.includes(one.operationId))) {
        const body = ['POST', 'PUT', 'PATCH'].includes(method) ? { body: '{}' } : {};
        const [status, reason] = await service.outcome('alice', path.replaceAll(/\{\w+\}/g, 'x'), asBob, { method, ...body });
        expect([status, reason], `${operationId} ${method} ${path}`).to.deep.equal([400, 'ImpersonationNotSupported']);
      }
      for (const path of ['/', '/identity/.well-known/openid-configuration', '/plugins/x/y.js', '/auth/v1/none'])
        expect(await service.outcome('alice', path, asBob), path).to.deep.equal([400, 'ImpersonationNotSupported']);
    });

    it('VAS-06 write with the switch and the same name, and are recorded', async () => {
      const write = (named: Record<string, string>) => service.outcome('alice', mapsOf('shop'), { ...asBob, ...named }, map('written'));
      expect(await write({})).to.deep.equal([403, 'ViewAsReadOnly']);
      expect(await write({ 'Atrium-View-As-Write': emailOf('carol') })).to.deep.equal([400, 'FieldValueInvalid']);
      expect(await write({ 'Atrium-View-As-Write': bob })).to.deep.equal([201, undefined]);
      const { status } = await service.admin.call('GET', '/api/v1/namespaces/shop/configmaps/written');
      expect(status).to.equal(200);
      const [recorded] = await eventually(
        () => service.auditOf('ViewedAs').filter(({ reason }) => reason === 'Write'),
        (lines) => lines.length > 0,
      );
      expect(recorded).to.deep.include({ target: bob, outcome: 'success', code: 201 });
      expect(recorded?.actor.name).to.equal(emailOf('alice'));
      const pod = `${kubernetes}/api/v1/namespaces/shop/pods/x/exec?command=id`;
      expect(await service.outcome('alice', pod, { ...asBob, 'Atrium-View-As-Write': bob })).to.deep.equal([403, 'ViewAsReadOnly']);
    });

    it('VAS-07 are cut when the right to view is taken away: a watch and a live list, and the next request is refused', async () => {
      const right = aBinding('passing', { role: 'atrium-view-as', to: `User:${emailOf('mallory')}` });
      await service.admin.apply(right);
      await eventually(
        () => service.outcome('mallory', listOfMaps, asBob),
        ([status]) => status === 200,
      );
      const watch = await service.send('mallory', `${mapsOf('shop')}?watch=true`, asBob);
      const live = await service.send('mallory', `${listOfMaps}?watch=true`, { ...asBob, Accept: 'text/event-stream' });
      expect([watch.status, live.status]).to.deep.equal([200, 200]);
      const ends = [watch, live].map((response) => response.text().catch(() => 'cut'));
      await service.admin.remove(bindingPath('passing'));
      const [, events] = await Promise.all(ends);
      if (events !== 'cut') expect(events).to.include('"code":403');
      expect(await service.outcome('mallory', mapsOf('shop'), asBob)).to.deep.equal([403, 'ViewAsNotAllowed']);
    });

    it('VAS-07 are cut when the target loses its right', async () => {
      await service.admin.apply(aBinding('bob-attic', { role: 'view', to: `User:${bob}`, namespace: 'attic' }));
      await eventually(
        () => service.outcome('alice', mapsOf('attic'), asBob),
        ([status]) => status === 200,
      );
      const watch = await service.send('alice', `${mapsOf('attic')}?watch=true`, asBob);
      expect(watch.status).to.equal(200);
      const end = watch.text().catch(() => 'cut');
      await service.admin.remove(bindingPath('bob-attic', 'attic'));
      await end;
      expect((await service.send('alice', mapsOf('attic'), asBob)).status).to.equal(403);
    });

    it('VAS-08 are 503 behind a proxy that drops the headers', async () => {
      between.onForward = ({ headers }) => {
        for (const name of Object.keys(headers)) if (name.startsWith('impersonate-')) delete headers[name];
      };
      try {
        const group = { 'Impersonate-User': 'atrium:group-view', 'Impersonate-Group': 'crew' };
        expect((await service.send('alice', mapsOf('depot'), group)).status).to.equal(503);
        expect((await service.send('alice', listOfMaps, group)).status).to.equal(503);
      } finally {
        between.onForward = () => undefined;
      }
    });
  });

describe('views that write after an old login', () => {
  const service = forSuite(() =>
    startViews({ kubernetes: { viewAs: 'write' }, login: { stepUp: { operations: ['viewAsWrites'], maxAge: '1s' } } }),
  );

  it('VAS-06 are 401 and ask for a login of the caller', async () => {
    const sent = { ...asBob, 'Atrium-View-As-Write': bob };
    const body = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'late' } });
    const answered = await eventually(
      () => service.outcome('alice', `${mapsOf('shop')}?dryRun=All`, sent, { method: 'POST', body }),
      ([status]) => status === 401,
    );
    expect(answered).to.deep.equal([401, 'StepUpRequired']);
  });
});
