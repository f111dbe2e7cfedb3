import { expect } from 'chai';
import { kindsOf } from '../../../web/src/api/discovery.ts';

describe('the kinds in the discovery of the console', () => {
  const kinds = (resource: object) =>
    kindsOf({
      metadata: { name: 'custom.metrics.k8s.io' },
      versions: [{ version: 'v1beta1', resources: [{ resource: 'namespaces', scope: 'Namespaced', ...resource }] }],
    });

  it('have no verbs, short names and subresources where the API server sends null', () => {
    expect(kinds({ verbs: null, shortNames: null, subresources: null })).to.deep.equal([
      {
        ...{ group: 'custom.metrics.k8s.io', version: 'v1beta1', resource: 'namespaces', kind: 'namespaces', title: 'namespaces' },
        ...{ isNamespaced: true, isPreferred: true, verbs: [], subresources: [], shortNames: [] },
      },
    ]);
  });

  it('have the verbs, short names and subresources that it sends', () => {
    const [kind] = kinds({ verbs: ['list'], shortNames: ['ns'], subresources: [{ subresource: 'status' }] });
    expect(kind).to.deep.include({ verbs: ['list'], shortNames: ['ns'], subresources: ['status'] });
  });
});
