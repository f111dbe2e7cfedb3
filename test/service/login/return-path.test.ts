/** Addresses that a login returns to: the console asks for those that the service accepts, and for no others. */
import { isReturnPath } from '@atrium/http/return-path.ts';
import { expect } from 'chai';
import { relyingParty } from '../relying-party/conformance/relying-party.ts';

const accepted = [
  ...['/', '/users', '/users/', '/r/core/v1/pods/ns/shop/web-0/logs?container=app&q=a%20b#end', '/users?q=%C3%A9', '/users?q=%'],
  ...['/r/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode', '/r/rbac.authorization.k8s.io/v1/clusterroles/a%20b', '/a+b', '/~a'],
  ...['/users?q=%5C', '/users?q=%00', '/users#%zz', '/x/shop/%F0%9F%9A%80', '/.well-known', '/a;b=c,d', "/o'brien", '/@me', '/a:b'],
];
const refused = [
  ...[
    '',
    'users',
    '//evil.example.com',
    '/\\evil.example.com',
    'https://evil.example.com',
    '/a//b',
    '/%2F/evil.example.com',
    '/%2f%2fevil',
  ],
  ...['/users/50%', '/users/%zz', '/users/%ff', '/r/core/v1/pods/a%5Cb', '/a%00', '/a%0d%0ab', '/a%7f', '/a%C2%85', '/a b', '/é'],
  `/${'a'.repeat(2048)}`,
];

describe('the page to which a login returns', () => {
  const party = relyingParty();
  const begin = (path: string) => fetch(`${party().service.url}/api/v2/token/login?${new URLSearchParams({ return_to: path })}`);

  for (const path of accepted)
    it(`may be ${path}`, async () => {
      expect(isReturnPath(path)).to.equal(true);
      const response = await begin(path);
      expect(await response.text()).not.to.contain('return_to');
    });

  for (const path of refused)
    it(`may not be ${path.slice(0, 40)}`, async () => {
      expect(isReturnPath(path)).to.equal(false);
      const response = await begin(path);
      expect(response.status).to.equal(400);
      expect(await response.text()).to.contain('return_to');
    });
});
