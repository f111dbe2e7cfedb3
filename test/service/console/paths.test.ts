/** Addresses of pages and routes, whatever the names in them are. */
import { expect } from 'chai';
import { pagePath } from '../../../web/src/api/page-path.ts';
import { match } from '../../../web/src/app/path-pattern.ts';
import { routeAddress } from '../../../web/src/pages/cluster/sections/network/ingress-address.ts';

/** The order of web/src/shell/pages.ts. */
const patterns = [
  '/r/:group/:version/:resource',
  '/r/:group/:version/:resource/ns/:namespace',
  '/r/:group/:version/:resource/ns/:namespace/:name/:tab?',
  '/r/:group/:version/:resource/:name/:tab?',
];
const names = [
  ...['web', 'system:node', 'system:controller:node-controller', 'ns', 'Admin', 'a.b.c', 'a..b', '...', '-', '~', '_', '0'],
  ...[
    'a b',
    'a+b',
    'a&b=c',
    'a?b',
    'a#b',
    'a;b',
    'a,b',
    'a@b',
    "o'brien",
    '"q"',
    '<b>',
    '*',
    '(x)',
    '[x]',
    '{x}',
    '|',
    '^',
    '`',
    '$1',
    '!',
  ],
  ...['a\\b', 'jäne', '管理', '🚀', 'ａ', '\u202eevil', 'new', 'edit', 'logs', 'jane@example.com'],
];

/** Reads the address of a page as the console does. */
function read(path: string) {
  const { pathname } = new URL(path.replace(/^\//, ''), 'https://console.example.com/base/');
  const own = `/${pathname.slice('/base/'.length)}`;
  for (const pattern of patterns) {
    const found = match(pattern, own);
    if (found !== undefined) return found;
  }
  return undefined;
}

const kind = { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterroles' };

describe('addresses of pages', () => {
  for (const name of names)
    it(`lead to an object with the name ${JSON.stringify(name)}`, () => {
      expect(read(pagePath(kind, { name }))).to.deep.equal({ ...kind, name });
      expect(read(pagePath(kind, { name }, 'yaml'))).to.deep.equal({ ...kind, name, tab: 'yaml' });
      expect(read(pagePath(kind, { name, namespace: 'ns' }))).to.deep.equal({ ...kind, namespace: 'ns', name });
      expect(read(pagePath(kind, { name, namespace: 'shop' }, 'yaml'))).to.deep.equal({ ...kind, namespace: 'shop', name, tab: 'yaml' });
    });

  it('lead to kinds and namespaces', () => {
    expect(read(pagePath(kind, {}))).to.deep.equal(kind);
    expect(read(pagePath(kind, { namespace: 'ns' }))).to.deep.equal({ ...kind, namespace: 'ns' });
  });

  for (const part of ['50%', '%', '%zz', '%ff', '%E0%A4%A', 'a%2'])
    it(`do not lead to a page with ${part}`, () => {
      expect(match('/users/:name/:tab?', `/users/${part}`)).to.equal(undefined);
      expect(match('/x/:plugin/:path*', `/x/shop/a/${part}`)).to.equal(undefined);
    });

  it('take the rest of a path', () => {
    expect(match('/x/:plugin/:path*', '/x/shop/a%2Fb/c')).to.deep.equal({ plugin: 'shop', path: 'a/b/c' });
  });
});

const tls = [{ hosts: ['a.example.com', '*.b.example.com'] }];
const routes: [host: string, path: string, pathType: string, address: string | undefined][] = [
  ['a.example.com', '/', 'Prefix', 'https://a.example.com/'],
  ['x.b.example.com', '/', 'Prefix', 'https://x.b.example.com/'],
  ['x.y.b.example.com', '/', 'Prefix', 'http://x.y.b.example.com/'],
  ['b.example.com', '/shop', 'Exact', 'http://b.example.com/shop'],
  ['xn--bcher-kva.example', '/', 'Prefix', 'http://xn--bcher-kva.example/'],
  ['192.0.2.1.nip.io', '/', 'Prefix', 'http://192.0.2.1.nip.io/'],
  ['localhost', '/', 'Prefix', 'http://localhost/'],
  ['*', '/', 'Prefix', undefined],
  ['*.example.com', '/', 'Prefix', undefined],
  ['c.example.com', '/a(/|$)(.*)', 'ImplementationSpecific', undefined],
  ['c.example.com', '/a b', 'Prefix', 'http://c.example.com/a%20b'],
  ['c.example.com', '/a%20b', 'Prefix', 'http://c.example.com/a%20b'],
  ['c.example.com', '/%E7%AE%A1', 'Prefix', 'http://c.example.com/%E7%AE%A1'],
  ['c.example.com', '/管', 'Prefix', 'http://c.example.com/%E7%AE%A1'],
  ['c.example.com', '/100%', 'Prefix', 'http://c.example.com/100%25'],
  ['c.example.com', '/a%2', 'Prefix', 'http://c.example.com/a%252'],
  ['c.example.com', '/a?b', 'Exact', 'http://c.example.com/a%3Fb'],
  ['c.example.com', '/a#b', 'Exact', 'http://c.example.com/a%23b'],
  ['c.example.com', '/a;v=1', 'Exact', 'http://c.example.com/a;v=1'],
  ['c.example.com', '/~jane/@x', 'Prefix', 'http://c.example.com/~jane/@x'],
  ['c.example.com', '/"<>', 'Prefix', 'http://c.example.com/%22%3C%3E'],
  ['evil.example.com/@a.example.com', '/', 'Prefix', undefined],
  ['a.example.com:8080', '/', 'Prefix', undefined],
  ['javascript:alert(1)', '/', 'Prefix', undefined],
  ['bücher.example', '/', 'Prefix', undefined],
  ['', '/', 'Prefix', undefined],
];

describe('addresses of routes of an Ingress', () => {
  for (const [host, path, pathType, address] of routes)
    it(`are ${address} for ${pathType} ${JSON.stringify(host)} ${path}`, () => {
      expect(routeAddress({ host, path, pathType }, tls)).to.equal(address);
    });
});
