import { RateLimit } from '@atrium/http/limits/rate-limit.ts';
import { StatusError } from '@atrium/objects/status.ts';
import { expect } from 'chai';

describe('a rate limit', () => {
  const address = (index: number) => `2001:db8:0:1:${index.toString(16)}::${index.toString(16)}`;

  it('LIM-10 counts 5,000 addresses of one IPv6 /64 as one', () => {
    const limit = new RateLimit({ limit: 600, clock: () => 0 });
    const taken = Array.from({ length: 5_000 }, (_, index) => limit.take(address(index))).filter((exceeded) => exceeded === undefined);
    expect(taken).to.have.length(600);
    expect(limit.take('2001:db8:0:2::1')).to.equal(undefined);
    for (const written of ['2001:DB8:0:1::1', '2001:0db8:0000:0001:0:0:0:1', '2001:db8:0:1:ffff:ffff:ffff:ffff'])
      expect(() => limit.requireRoom(written), written).to.throw(StatusError);
  });

  it('counts each IPv4 address separately', () => {
    const limit = new RateLimit({ limit: 1, clock: () => 0 });
    for (const source of ['192.0.2.1', '192.0.2.2']) expect(limit.take(source)).to.equal(undefined);
    expect(limit.take('192.0.2.1')).to.have.property('retryAfterSeconds').within(1, 60);
  });

  it('ends a window after its time, and takes back requests that should not count', () => {
    let now = 0;
    const limit = new RateLimit({ limit: 2, windowMs: 10_000, clock: () => now });
    limit.require('192.0.2.1');
    limit.require('192.0.2.1');
    expect(limit.take('192.0.2.1')).to.deep.equal({ retryAfterSeconds: 10 });
    limit.giveBack('192.0.2.1');
    expect(limit.take('192.0.2.1')).to.equal(undefined);
    now = 9_500;
    expect(limit.take('192.0.2.1')).to.deep.equal({ retryAfterSeconds: 1 });
    now = 10_000;
    expect(limit.take('192.0.2.1')).to.equal(undefined);
  });

  it('keeps failed attempts counted, and neither right ones nor those that throw', async () => {
    const limit = new RateLimit({ limit: 2, clock: () => 0 });
    const attempt = (result: () => boolean) => {
      limit.require('192.0.2.1');
      return limit.runCounted(
        '192.0.2.1',
        async () => result(),
        (isRight) => !isRight,
      );
    };
    const throwing = () => {
      throw new Error('the cluster does not answer');
    };
    for (let round = 0; round < 3; round += 1) {
      expect(await attempt(() => true)).to.equal(true);
      expect(await attempt(throwing).catch(String)).to.equal('Error: the cluster does not answer');
    }
    expect(await attempt(() => false)).to.equal(false);
    expect(await attempt(() => false)).to.equal(false);
    expect(() => limit.requireRoom('192.0.2.1')).to.throw(StatusError);
  });
});
