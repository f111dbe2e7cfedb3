import { expect } from 'chai';
import { describe, it } from 'mocha';
import { z } from 'zod';
import { newToken } from '../../../src/tokens/token-text.ts';
import { forSuite } from '../../support/for-suite.ts';
import { aPerson, makePath, recordOf, refusalOf, startTokenServer, tokensPath } from './tokens.ts';

describe('features.accessTokens, when it is off', () => {
  const server = forSuite(() => startTokenServer({ objects: [aPerson('alice')], config: { features: { accessTokens: false } } }));

  it('leaves no operation and no watch', async () => {
    for (const [method, path] of [
      ['POST', makePath],
      ['GET', tokensPath],
      ['DELETE', `${tokensPath}/${'a'.repeat(16)}`],
      ['POST', '/auth/v1/tokenreviews'],
    ] as const) {
      const response = await server.request(path, { method, as: 'admin' });
      expect([response.status, (await refusalOf(response)).reason], path).to.deep.equal([404, 'NotFound']);
    }
    expect(await (await fetch(`${server.metricsURL}/metrics`)).text()).not.to.include('accesstokens');
  });

  it('leaves no valid token', async () => {
    const { id, text: token, tokenHash } = newToken(undefined);
    const { body } = await server.kubernetes.call('GET', `/apis/auth.platform.io/v1/users/${recordOf('alice')}`);
    const { name, uid } = z.object({ metadata: z.object({ name: z.string(), uid: z.string() }) }).parse(body).metadata;
    await server.kubernetes.apply({
      apiVersion: 'auth.platform.io/v1',
      kind: 'AccessToken',
      metadata: { name: id, ownerReferences: [{ apiVersion: 'auth.platform.io/v1', kind: 'User', name, uid }] },
      spec: { owner: name, description: 'from before', tokenHash, issuedAt: '2026-01-01T00:00:00Z' },
    });

    for (const path of ['/auth/v1/me', '/api/v1/modules', '/api/v1/token/info']) {
      const refused = await server.request(path, { token });
      expect([refused.status, refused.headers.get('www-authenticate')], path).to.deep.equal([
        401,
        'Bearer realm="atrium", error="invalid_token"',
      ]);
    }
  });
});
