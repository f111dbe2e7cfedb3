import { expect } from 'chai';
import { describe, it } from 'mocha';
import { z } from 'zod';
import { eventually, type Manifest } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { TestProvider } from '../login/provider/provider.ts';
import { whoIs } from '../tokens/tokens.ts';
import { nameOf } from '../users/a-user.ts';
import { aMachine, audience, branch, exchange, startExchange, workloadToken, written } from './workloads.ts';

const stored = z.object({ metadata: z.object({ uid: z.string() }) });

describe('the number of tokens of a machine user', () => {
  const provider = forSuite(() => TestProvider.start({ clientID: audience }));
  const server = forSuite(() =>
    startExchange(provider, [aMachine('shop', [{ issuer: provider.issuer, audience, claims: { sub: branch } }])]),
  );

  const aToken = (serial: number, uid: string): Manifest => {
    const name = nameOf('shop');
    return {
      apiVersion: 'auth.platform.io/v1',
      kind: 'AccessToken',
      metadata: { name: `old-${serial}`, ownerReferences: [{ apiVersion: 'auth.platform.io/v1', kind: 'User', name, uid }] },
      spec: {
        owner: name,
        description: 'Token exchange',
        exchange: { issuer: provider.issuer, subject: branch },
        tokenHash: 'a'.repeat(64),
        issuedAt: '2026-01-01T00:00:00Z',
      },
    };
  };

  it('is 500: another one ends the oldest', async () => {
    const { body } = await server.kubernetes.call('GET', `/apis/auth.platform.io/v1/users/${nameOf('shop')}`);
    const { uid } = stored.parse(body).metadata;
    await server.kubernetes.apply(...Array.from({ length: 500 }, (_, serial) => aToken(serial, uid)));
    // A replica that has not seen all of them ends too few, and the next exchange the rest.
    const made = await eventually(
      async () => ({ given: await exchange(server, workloadToken(provider), { client_id: 'shop' }), left: await written(server) }),
      ({ left }) => left.length === 500,
    );
    expect(made.left).to.include(made.given.body.access_token?.split('_')[1]);
    expect(await whoIs(server, made.given.body.access_token ?? '')).to.be.an('object');
  });
});
