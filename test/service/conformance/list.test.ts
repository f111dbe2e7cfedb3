import { expect } from 'chai';
import { namesOf } from './api-client.ts';
import { eventually } from './eventually.ts';
import { aWidget } from './widget.ts';
import { suiteWorkspace } from './workspace.ts';

const names = ['a', 'b', 'c', 'd', 'e'];

describe('list', () => {
  const { workspace, admin, widgets, configMaps } = suiteWorkspace();
  before(async () => {
    for (const [index, name] of names.entries()) {
      const labels = { parity: index % 2 === 0 ? 'even' : 'odd', letter: name };
      await admin.create(widgets, aWidget(name, { color: index < 2 ? 'blue' : 'green' }, name === 'e' ? {} : { labels }));
    }
  });

  it('answers kind, resourceVersion and the items in order of their names', async () => {
    const answer = await admin.get(widgets);

    expect(answer.status).to.equal(200);
    expect(answer.body).to.include({ apiVersion: 'conformance.example.com/v1', kind: 'WidgetList' });
    expect(answer.body)
      .to.have.nested.property('metadata.resourceVersion')
      .that.matches(/^[1-9]\d*$/);
    expect(namesOf(await admin.list(widgets))).to.deep.equal(names);
  });

  it('answers custom items with apiVersion and kind, built-in items without', async () => {
    await admin.create(configMaps, { metadata: { name: 'item' } });

    expect((await admin.list(widgets)).items[0]).to.include({ apiVersion: 'conformance.example.com/v1', kind: 'Widget' });
    expect((await admin.list(configMaps, { fieldSelector: 'metadata.name=item' })).items[0]).not.to.have.any.keys('apiVersion', 'kind');
  });

  it('answers an empty list without objects, also in a namespace that does not exist', async () => {
    for (const namespace of [workspace.namespace, 'conformance-missing']) {
      const answer = await admin.get(`/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/roles`);

      expect(answer.status).to.equal(200);
      expect(answer.body).to.deep.include({ kind: 'RoleList', items: [] });
    }
  });

  it('collects a namespaced resource over all namespaces', async () => {
    const list = await admin.list('/apis/conformance.example.com/v1/widgets', { labelSelector: 'letter=a' });

    expect(namesOf(list)).to.include('a');
    expect(list.items.map((item) => item.metadata.namespace)).to.include(workspace.namespace);
  });

  describe('in pages', () => {
    it('answers limit items, a continue token and how many remain', async () => {
      const first = await admin.list(widgets, { limit: 2 });
      const second = await admin.list(widgets, { limit: 2, continue: first.metadata.continue ?? '' });
      const third = await admin.list(widgets, { limit: 2, continue: second.metadata.continue ?? '' });

      expect([first, second, third].map(namesOf)).to.deep.equal([['a', 'b'], ['c', 'd'], ['e']]);
      expect(first.metadata.remainingItemCount).to.equal(3);
      expect(second.metadata.remainingItemCount).to.equal(1);
      expect(third.metadata.continue ?? '').to.equal('');
      expect(third.metadata).not.to.have.property('remainingItemCount');
      expect(second.metadata.resourceVersion).to.equal(first.metadata.resourceVersion);
    });

    it('shows every page as of the first one', async () => {
      await admin.create(widgets, aWidget('z-late'));
      const first = await admin.list(widgets, { limit: 2 });
      await admin.delete(`${widgets}/z-late`);
      const rest = await admin.list(widgets, { continue: first.metadata.continue ?? '' });

      expect(namesOf(rest)).to.deep.equal(['c', 'd', 'e', 'z-late']);
    });

    it('returns no remaining count when a selector is given', async () => {
      const list = await admin.list(widgets, { limit: 1, labelSelector: 'parity=even' });

      expect(list.metadata.continue).to.be.a('string');
      expect(list.metadata).not.to.have.property('remainingItemCount');
    });

    it('fills pages with the objects of a selector', async () => {
      const query = { limit: 1, labelSelector: 'parity=odd' };
      const first = await admin.list(widgets, query);
      const second = await admin.list(widgets, { ...query, continue: first.metadata.continue ?? '' });

      expect([first, second].map(namesOf)).to.deep.equal([['b'], ['d']]);
    });

    it('answers 400 to a continue token that it did not make', async () => {
      for (const token of ['nonsense', 'eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ']) {
        const answer = await admin.get(widgets, { limit: 2, continue: token });

        expect(answer.status).to.equal(400);
        expect(answer.body).to.include({ kind: 'Status', reason: 'BadRequest' });
        expect(answer.body).to.have.property('message').that.includes('continue key is not valid');
      }
    });

    it('answers 400 to a continue token together with a resourceVersion', async () => {
      const first = await admin.list(widgets, { limit: 2 });
      const answer = await admin.get(widgets, {
        limit: 2,
        continue: first.metadata.continue ?? '',
        resourceVersion: first.metadata.resourceVersion,
      });

      expect(answer.status).to.equal(400);
    });

    it('answers 400 to a limit that is not a number', async () => {
      expect((await admin.get(widgets, { limit: 'many' })).status).to.equal(400);
    });
  });

  describe('by label', () => {
    const cases: [string, string[]][] = [
      ['parity=even', ['a', 'c']],
      ['parity==odd', ['b', 'd']],
      ['parity!=even', ['b', 'd', 'e']],
      ['letter in (a, d)', ['a', 'd']],
      ['letter notin (a,d)', ['b', 'c', 'e']],
      ['parity', ['a', 'b', 'c', 'd']],
      ['!parity', ['e']],
      ['parity=even,letter in (a,b)', ['a']],
      ['', names],
    ];
    for (const [labelSelector, expected] of cases) {
      it(`takes "${labelSelector}"`, async () => {
        expect(namesOf(await admin.list(widgets, { labelSelector }))).to.deep.equal(expected);
      });
    }

    it('answers 400 to an invalid selector', async () => {
      for (const labelSelector of ['a b', 'letter in a', '=x']) {
        const answer = await admin.get(widgets, { labelSelector });

        expect(answer.status, labelSelector).to.equal(400);
        expect(answer.body).to.include({ reason: 'BadRequest' });
      }
    });
  });

  describe('by field', () => {
    it('takes metadata.name and metadata.namespace', async () => {
      expect(namesOf(await admin.list(widgets, { fieldSelector: 'metadata.name=b' }))).to.deep.equal(['b']);
      const everywhere = await admin.list('/apis/conformance.example.com/v1/widgets', {
        fieldSelector: `metadata.namespace=${workspace.namespace},metadata.name!=a`,
      });
      expect(namesOf(everywhere)).to.deep.equal(['b', 'c', 'd', 'e']);
    });

    it('takes the selectableFields of a definition', async () => {
      expect(namesOf(await admin.list(widgets, { fieldSelector: 'spec.color=blue' }))).to.deep.equal(['a', 'b']);
      expect(namesOf(await admin.list(widgets, { fieldSelector: 'spec.color!=blue' }))).to.deep.equal(['c', 'd', 'e']);
      expect(namesOf(await admin.list(widgets, { fieldSelector: 'spec.color=green', labelSelector: 'parity=odd' }))).to.deep.equal(['d']);
    });

    it('answers 400 to any other field of a custom resource', async () => {
      const answer = await admin.get(widgets, { fieldSelector: 'spec.size=1' });

      expect(answer.status).to.equal(400);
      expect(answer.body).to.include({ reason: 'BadRequest', message: 'field label not supported: spec.size' });
    });

    it('answers 400 to any other field of a built-in resource', async () => {
      const answer = await admin.get(configMaps, { fieldSelector: 'data.key=1' });

      expect(answer.status).to.equal(400);
      expect(answer.body).to.have.property('message').that.includes('data.key');
    });

    it('takes the type of Secrets', async () => {
      const secrets = `/api/v1/namespaces/${workspace.namespace}/secrets`;
      await admin.create(secrets, { metadata: { name: 'opaque' } });
      await admin.create(secrets, { metadata: { name: 'typed' }, type: 'example.com/typed' });

      expect(namesOf(await admin.list(secrets, { fieldSelector: 'type=example.com/typed' }))).to.deep.equal(['typed']);
    });
  });

  describe('at a resourceVersion', () => {
    it('takes 0 for any version of the cache', async () => {
      expect((await admin.get(widgets, { resourceVersion: '0' })).status).to.equal(200);
    });

    it('is not older than the version asked for', async () => {
      const { metadata } = await admin.create(configMaps, { metadata: { name: 'newer' } });
      // A server whose cache lags behind for more than three seconds answers 504.
      const list = await eventually(() =>
        admin.list(configMaps, { resourceVersion: metadata.resourceVersion, resourceVersionMatch: 'NotOlderThan' }),
      );

      expect(namesOf(list)).to.include('newer');
    });

    it('shows exactly the version asked for', async () => {
      const before = await admin.list(configMaps);
      await admin.create(configMaps, { metadata: { name: 'later' } });
      const list = await admin.list(configMaps, {
        resourceVersion: before.metadata.resourceVersion,
        resourceVersionMatch: 'Exact',
        limit: 500,
      });

      expect(namesOf(list)).not.to.include('later');
      expect(list.metadata.resourceVersion).to.equal(before.metadata.resourceVersion);
    });

    it('refuses a match without a version, and an unknown match', async () => {
      for (const query of [{ resourceVersionMatch: 'Exact' }, { resourceVersion: '1', resourceVersionMatch: 'Nearly' }]) {
        const answer = await admin.get(widgets, query);

        expect(answer.status).to.equal(422);
        expect(answer.body).to.have.nested.property('details.causes[0].field', 'resourceVersionMatch');
      }
    });

    it('answers 400 to an invalid version', async () => {
      const answer = await admin.get(widgets, { resourceVersion: 'abc' });

      expect(answer.status).to.equal(400);
    });

    it('answers 504 Timeout with a cause to a version that lies in the future', async () => {
      const answer = await admin.get(widgets, { resourceVersion: '9000000000' });

      expect(answer.status).to.equal(504);
      expect(answer.body).to.have.property('reason', 'Timeout');
      expect(answer.body).to.have.nested.property('details.causes[0].reason', 'ResourceVersionTooLarge');
      expect(answer.body)
        .to.have.property('message')
        .that.matches(/Too large resource version: 9000000000/);
    });
  });
});
