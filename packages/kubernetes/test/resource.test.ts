import { isResourcePath, resourcePath } from '@atrium/kubernetes/resource.ts';
import { StatusError } from '@atrium/objects/status.ts';
import { expect } from 'chai';

const configMaps = { group: '', version: 'v1', resource: 'configmaps' };
const roles = { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterroles' };

describe('the path of a resource', () => {
  it('is that of the Kubernetes API', () => {
    expect(resourcePath(configMaps)).to.equal('/api/v1/configmaps');
    expect(resourcePath(configMaps, { namespace: 'shop', name: 'logo' })).to.equal('/api/v1/namespaces/shop/configmaps/logo');
    expect(resourcePath(roles, { name: 'system:Admin' })).to.equal('/apis/rbac.authorization.k8s.io/v1/clusterroles/system:Admin');
    expect(resourcePath(roles, { name: 'a', subresource: 'status' })).to.equal('/apis/rbac.authorization.k8s.io/v1/clusterroles/a/status');
  });

  const unfit = ['', '.', '..', 'a/b', '/', '%2e%2e', '%2F', 'a%2fb', 'a\\b', '..\\..', 'a\nb', 'a\0', '\x7f', 'x'.repeat(254), '\ud800'];
  for (const name of unfit) {
    it(`has no place for the name ${JSON.stringify(name).slice(0, 20)}`, () => {
      for (const target of [{ name }, { namespace: name }, { name: 'x', subresource: name }]) {
        expect(() => resourcePath(configMaps, target))
          .to.throw(StatusError)
          .with.nested.property('status.code', 404);
      }
    });
  }

  it('keeps special characters of a URL within their segment', () => {
    expect(resourcePath(configMaps, { namespace: 'shop', name: 'a?b#c d;ü' })).to.equal(
      '/api/v1/namespaces/shop/configmaps/a%3Fb%23c%20d%3B%C3%BC',
    );
  });

  it('is told from paths that mean something else to a server', () => {
    expect(isResourcePath('/api/v1/namespaces/shop/configmaps/a%3Fb')).to.equal(true);
    for (const path of [
      '/apis',
      '/api/v1/../..',
      '/api/v1/%2e%2e/x',
      '/api//x',
      '/api/v1/',
      '/api/a%2fb',
      '/api/%zz',
      '/api/x?y',
      '/metrics/x',
      'api/v1/x',
    ]) {
      expect(isResourcePath(path), path).to.equal(false);
    }
  });
});
