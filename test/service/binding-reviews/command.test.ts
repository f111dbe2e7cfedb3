import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { Trusting } from '../../support/trusting.ts';
import { aBinding, aNamespace, aRole, bindingPath, podRule } from '../access/objects.ts';
import { aBinding as aUserBinding, bindingsPath } from '../bindings/support.ts';
import { Machine } from '../kubectl-atrium/machine.ts';
import { aReview, type ReviewedItem, type StoredReview } from './support.ts';

const password = 'correct horse';
const ada = 'ada@example.com';
const ofShop = { subjects: [{ kind: 'User', name: 'jane' }], roleRef: 'view', scope: 'namespace', constraint: [{ namespace: 'shop' }] };

describe('kubectl atrium reviews', () => {
  const service = forSuite(() =>
    startEmbeddedLogin({ emails: [ada], password, login: { audiences: ['kubectl'] }, features: { accessRequests: true } }),
  );
  const machine = forSuite(
    () => Machine.create(),
    (one) => one.remove(),
  );
  const dispatcher = forSuite(
    async () => new Trusting(readFileSync(service.caFile, 'utf8')),
    (agent) => agent.close(),
  );
  const options = () => ['--issuer', `${service.url}/identity`, '--ca-file', service.caFile, '--no-browser'];
  const reviews = (...args: string[]) => machine.run(['reviews', ...args, ...options()]);
  const items = async () => {
    const { stdout } = await reviews('bindings', 'shop', '-o', 'json');
    return stdout === '' ? [] : (JSON.parse(stdout) as { items: ReviewedItem[] }).items;
  };
  const untilListed = (name: string) =>
    eventually(items, (found) => found.some(({ binding }) => [binding.name, binding.userBinding].includes(name)));

  before(async () => {
    await service.admin.apply(
      aNamespace('shop'),
      aRole('reads', [podRule(['get', 'list'])]),
      aRole('binding-owner', [
        { apiGroups: ['rbac.authorization.k8s.io'], resources: ['rolebindings'], verbs: ['get', 'list', 'update', 'delete'] },
        { apiGroups: ['auth.platform.io'], resources: ['userbindings'], verbs: ['get', 'patch'] },
      ]),
      clusterRoleBinding('owner', 'binding-owner', { kind: 'User', name: ada }),
      aBinding('readers', { role: 'reads', to: 'User:jane', namespace: 'shop' }),
      aBinding('leavers', { role: 'reads', to: 'Group:leavers', namespace: 'shop' }),
      aUserBinding('on-call', ofShop),
      aReview('shop'),
    );
    expect(await machine.logIn(options(), { person: { email: ada, password }, dispatcher })).to.include({ code: 0 });
    for (const name of ['readers', 'leavers', 'on-call']) await untilListed(name);
    await eventually(
      () => reviews('list'),
      ({ stdout }) => stdout.includes('3 of 3'),
    );
  });

  it('lists reviews, and their bindings', async () => {
    const { stdout } = await reviews('list');
    expect(stdout).to.match(/^NAME +PLACE +PHASE +OPEN +DUE +UNANSWERED\nshop +shop +Open +3 of 3 +\S+Z +Keep\n$/);
    const bindings = await reviews('bindings', 'shop');
    expect(bindings.stdout).to.match(/^BINDING +ROLE +HOLDERS +YOURS +ANSWER +BY +VERSION\n/);
    expect(bindings.stdout).to.match(/^readers +reads +User\/jane +\S{22}$/m);
    expect(bindings.stdout).to.match(/^on-call +view +User\/jane +\S{22}$/m);
  });

  it('keeps, shortens and ends bindings', async () => {
    expect((await reviews('keep', 'shop', 'readers')).stdout).to.equal('RoleBinding/readers (reads for User/jane) Kept\n');
    expect((await reviews('bindings', 'shop')).stdout).to.match(/^readers +reads +User\/jane +Kept +ada@example\.com +\S{22}$/m);

    const shortened = await reviews('shorten', 'shop', 'on-call', '--for', '30d');
    const [, until] = /^RoleBinding\/on-call \(view for User\/jane\) Shortened until (\S+Z)\n$/.exec(shortened.stdout) ?? [];
    expect(until, shortened.stderr).to.be.a('string');
    const { body } = await service.admin.call('GET', `${bindingsPath}/on-call`);
    expect((body as { spec: { expiresAt?: string } }).spec.expiresAt).to.equal(until);

    const ended = await reviews('end', 'shop', 'leavers', '-o', 'json');
    const { status } = JSON.parse(ended.stdout) as StoredReview;
    expect(status?.answers?.at(-1)).to.include({ name: 'leavers', decision: 'Ended', by: ada });
    expect((await service.admin.call('GET', bindingPath('leavers', 'shop'))).status).to.equal(404);
  });

  it('prints refusals of the service, and changes nothing', async () => {
    const refusals: [string[], RegExp][] = [
      [['keep', 'shop', 'no-such-binding'], /the review shop has no binding no-such-binding/],
      [['end', 'no-such-review', 'readers'], /bindingreviews.auth.platform.io "no-such-review" not found/],
      [['shorten', 'shop', 'readers', '--for', '30d'], /only a UserBinding has an end/],
      [['shorten', 'shop', 'readers', '--for', '400d'], /must be ahead, and by a year at most/],
      [['shorten', 'shop', 'readers'], /required option '--for <duration>' not specified/],
      [['end', 'shop', 'readers', '--if-version', 'x'], /the binding has changed since you saw it/],
    ];
    for (const [args, message] of refusals) {
      const { code, stdout, stderr } = await reviews(...args);
      expect({ code, stdout }, args.join(' ')).to.deep.equal({ code: 1, stdout: '' });
      expect(stderr).to.match(message);
    }
    expect((await service.admin.call('GET', bindingPath('readers', 'shop'))).status).to.equal(200);
  });
});
