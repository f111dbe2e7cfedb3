/**
 * Names of what one build writes and the next one reads: cookies, seals, Leases and the Secret of the keys. A change breaks logins during
 * an upgrade and after a rollback, so that it takes two releases (docs/releasing.md).
 */
import { globSync, readFileSync } from 'node:fs';
import { cookieNames } from '@atrium/http/cookies/cookies.ts';
import { expect } from 'chai';

const code = globSync('{src,packages/*/src}/**/*.ts', { exclude: ['packages/embedded-cluster/**', 'packages/kubectl-atrium/**'] })
  .map((file) => readFileSync(file, 'utf8'))
  .join('\n');
const found = (pattern: RegExp) => [...new Set([...code.matchAll(pattern)].map(([, name = '']) => name))].sort();

describe('names that the last release reads', () => {
  it('stay those of 1.0.0 in cookies', () => {
    expect(found(/\b(?:hostCookie|CookieFamily)\([^)]*purpose: '(\w+)'/g)).to.deep.equal(['browser', 'flow', 'identity_record', 'session']);
    expect(found(/: names\.(?:host|path)\('(\w+)'\)/g)).to.deep.equal(['identity_log_in', 'identity_resume', 'identity_session']);
    const names = cookieNames('https://console.example.com/');
    expect([names.host('session'), names.path('identity_resume')]).to.deep.equal([
      '__Host-atrium_session_cd5c257a',
      '__Secure-atrium_identity_resume_cd5c257a',
    ]);
    expect(cookieNames('http://console.example.com/a/').host('flow')).to.equal('atrium_flow_6d8af9e1');
  });

  it('stay those of 1.0.0 in seals', () => {
    expect(found(/\bsealFor\('([^']+)'\)/g)).to.deep.equal([
      'accessrules',
      'change proposals',
      'continue',
      'factors',
      'flow',
      'identity',
      'identity access tokens',
      'identity cookies',
      'identity login progress',
      'identity passkey challenges',
      'identity record ids',
      'known browser',
      'links',
      'session',
    ]);
    expect(found(/\bsealFor\(JSON\.stringify\(\['([^']+)',/g)).to.deep.equal(['bearer token', 'refresh token']);
  });

  it('stay those of 1.0.0 in Leases, Secrets and ClusterRoles', () => {
    expect(found(/'(atrium-[a-z-]+)'/g)).to.deep.equal([
      'atrium-access-requests',
      'atrium-administrators',
      'atrium-audit',
      'atrium-audit-store',
      'atrium-binding-reviews',
      'atrium-certificates',
      'atrium-first-admin',
      'atrium-group-states',
      'atrium-keys',
      'atrium-plugin-states',
      'atrium-system',
      'atrium-token-reviews',
      'atrium-user-bindings',
      'atrium-user-states',
      'atrium-user-sync',
      'atrium-users-admin',
      'atrium-users-view',
    ]);
  });
});
