import { expect } from 'chai';
import { decodeProtectedHeader } from 'jose';
import { z } from 'zod';
import { createSigningKeys } from '../../../src/keys/key-ring.ts';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { Issuers } from './issuers.ts';
import { RelyingParty } from './relying-party.ts';

const jane = { email: 'jane@example.com', password: 'correct horse' };
const secret = { name: 'atrium-keys', namespace: serviceNamespace };
const entry = z.object({ data: z.object({ 'identity.jwks': z.base64() }) });
const keySet = z.object({ keys: z.array(z.looseObject({ kid: z.string() })) });

describe('the keys of the embedded OpenID provider', () => {
  const issuers = forSuite(() => Issuers.start());
  const published = async () => keySet.parse(await (await fetch(`${issuers.issuer}/jwks`)).json()).keys.map(({ kid }) => kid);

  before(async () => {
    await issuers.addPerson(jane.email, jane.password);
  });

  it('are rotated without a restart, and no user is logged out', async () => {
    const relying = new RelyingParty({ issuer: issuers.issuer });
    const browser = issuers.browser();
    const tokens = await relying.tokens(browser, jane);
    const { body } = await issuers.kubernetes.call('GET', `/api/v1/namespaces/${secret.namespace}/secrets/${secret.name}`);
    const { keys: old } = keySet.parse(JSON.parse(Buffer.from(entry.parse(body).data['identity.jwks'], 'base64').toString()));
    const fresh = await createSigningKeys();
    const text = JSON.stringify({ keys: [...fresh, ...old] });
    await issuers.kubernetes.apply({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: secret,
      data: { 'identity.jwks': Buffer.from(text).toString('base64') },
    });
    // Each replica checks the keys once a minute, and at its start.
    const identity = issuers.replicas[0]?.identity;
    await identity?.stop();
    identity?.start();

    expect(await eventually(published, ({ length }) => length === 4)).to.include.members(old.map(({ kid }) => kid));
    const again = await browser.get(relying.authorizationURL());
    expect(again.url.searchParams.get('code')).to.be.a('string');
    const renewed = await relying.refresh(tokens.refresh_token);
    expect(decodeProtectedHeader(String(renewed.body.id_token)).kid).to.equal(fresh[0]?.kid);
    expect(decodeProtectedHeader(tokens.id_token).kid).to.equal(old[0]?.kid);
  });
});
