import { expect } from 'chai';
import { rightOf } from '../../../web/src/pages/access/right-of.ts';

describe('the resource of a question about permissions', () => {
  const read = (resource: string) => {
    const [verb, none] = [{ value: 'get' }, { value: '' }];
    return rightOf({ verb, resource: { value: resource }, namespace: none, name: none });
  };

  it('has its group before or after the subresource', () => {
    const scale = { verb: 'get', group: 'apps', resource: 'deployments', subresource: 'scale' };
    expect(read('deployments.apps/scale')).to.deep.equal(scale);
    expect(read(' deployments/scale.apps ')).to.deep.equal(scale);
    expect(read('routes.route.openshift.io/custom-host')).to.deep.equal({
      ...{ verb: 'get', group: 'route.openshift.io', resource: 'routes', subresource: 'custom-host' },
    });
  });

  it('may have no group or subresource', () => {
    expect(read('pods/log')).to.deep.equal({ verb: 'get', group: '', resource: 'pods', subresource: 'log' });
    expect(read('deployments.apps')).to.deep.equal({ verb: 'get', group: 'apps', resource: 'deployments' });
    expect(read('pods')).to.deep.equal({ verb: 'get', group: '', resource: 'pods' });
  });
});
