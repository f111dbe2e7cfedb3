import { expect } from 'chai';
import { stringify } from 'yaml';
import { credentialsFor, identityURLOf, issuersOf } from '../../../src/config/issuers.ts';
import { parseConfig } from '../../../src/config/load.ts';
import { one, render } from './chart.ts';

const publicURL = 'https://console.example.com';
const issuerAt = (id: string) => ({
  id,
  name: id,
  issuer: `https://${id}.example.com:8443`,
  claims: { usernamePrefix: `${id}:`, groupsPrefix: `${id}:` },
});
const external = issuerAt('corp');
const embedded = { id: 'local', name: 'Local users' };

const configs: Record<string, Record<string, unknown>> = {
  'no issuer': {},
  'an external issuer': { login: { issuer: external.issuer } },
  'an external issuer beside the embedded one for other clients': { login: { issuer: external.issuer }, identity: { enabled: true } },
  'several external issuers': { login: { issuers: [external, issuerAt('other')] } },
  'an external and the embedded issuer': { login: { issuers: [external, embedded] } },
  'the embedded issuer turned off': { identity: { enabled: false } },
  'an embedded issuer that the API server trusts': { kubernetes: { credentials: 'passthrough' } },
  'an external issuer that the API server does not trust': {
    login: { issuer: external.issuer },
    kubernetes: { credentials: 'impersonate' },
  },
};

/** Decisions of src/config that templates repeat, for each kind of configuration. */
describe('the chart, which decides like src/config', () => {
  for (const [name, settings] of Object.entries(configs)) {
    const config = parseConfig({ yaml: stringify({ server: { publicURL }, ...settings }) });
    const rendered = () =>
      render({
        config: { server: { publicURL }, features: { accessTokens: false }, ...settings },
        'admin.email': 'ada@example.com',
      });

    it(`makes a password for the first administrator with ${name} only if the embedded issuer runs`, async () => {
      const jobs = (await rendered()).filter(({ kind }) => kind === 'Job');

      expect(jobs.length > 0).to.equal(identityURLOf(config) !== undefined);
    });

    it(`grants impersonation with ${name} only if the service impersonates users`, async () => {
      const roles = (await rendered()).filter(({ metadata }) => metadata.name === 'atrium-impersonation');
      // Without an issuer the service answers every login with 400, and impersonates no user.
      const impersonates = issuersOf(config).some((issuer) => credentialsFor(config, issuer) === 'impersonate');

      expect(roles.length > 0).to.equal(impersonates);
    });

    it(`opens the ports of all issuers with ${name}`, async () => {
      const { spec } = one(await rendered(), 'NetworkPolicy');
      const ports = issuersOf(config).map(({ issuer }) => Number(new URL(issuer).port || 443));

      for (const port of ports) expect(JSON.stringify(spec)).to.include(`{"port":${port}}`);
    });
  }
});
