import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { IssuerDiscovery } from '@atrium/oidc-client/discovery.ts';
import { IssuerFetch } from '@atrium/oidc-client/fetch.ts';
import { expect } from 'chai';
import { json } from '../../../test/service/login/provider/answers.ts';
import { TestProvider } from '../../../test/service/login/provider/provider.ts';

describe('an issuer that fails', () => {
  it('is asked again after one second, then after two, four, eight, and at last every ten', async () => {
    const provider = await TestProvider.start();
    const fetch = new IssuerFetch({ id: 'oidc' }, new Metrics());
    let seconds = 0;
    const discovery = new IssuerDiscovery({ issuer: provider.issuer, clientID: 'atrium' }, fetch, () => seconds * 1000);
    try {
      provider.misbehave({ answer: { discovery: json(503, {}) } });
      const askedAt: number[] = [];
      for (; seconds <= 36; seconds += 1) {
        const before = provider.hits('discovery');
        await discovery.metadata().catch(() => undefined);
        if (provider.hits('discovery') > before) askedAt.push(seconds);
      }

      expect(askedAt).to.deep.equal([0, 1, 3, 7, 15, 25, 35]);
      provider.misbehave();
      seconds = 45;
      expect((await discovery.metadata()).issuer).to.equal(provider.issuer);
    } finally {
      await fetch.stop();
      await provider.stop();
    }
  });
});
