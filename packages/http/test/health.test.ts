import { Health } from '@atrium/http/health.ts';
import { expect } from 'chai';
import { type BareService, startBareService } from './bare-service.ts';

describe('the readiness of a replica', () => {
  let service: BareService;
  let open: BareService;
  let health: Health;
  let failure: string | undefined;
  let seconds: number;

  beforeEach(async () => {
    failure = undefined;
    seconds = 0;
    health = new Health({ clock: () => seconds * 1000 });
    health.add({ name: 'users', critical: false, isAwaited: true, failure: () => failure });
    health.add({ name: 'issuer', critical: false, failure: () => 'away' });
    service = await startBareService(health.operations({ showsReasons: true }));
    open = await startBareService(health.operations({ showsReasons: false }));
  });
  afterEach(() => Promise.all([service.stop(), open.stop()]));

  const ready = async (query = '', { url } = service) => {
    const answer = await fetch(`${url}/readyz${query}`);
    return { status: answer.status, text: await answer.text() };
  };

  it('begins when the awaited checks pass, and waits for no other check', async () => {
    failure = 'not listed yet';
    const { status, text } = await ready();

    expect(status).to.equal(503);
    expect(JSON.parse(text).details.causes).to.deep.equal([{ reason: 'users', message: 'not listed yet' }]);
    failure = undefined;
    expect(await ready()).to.deep.equal({ status: 200, text: 'ok' });
  });

  it('does not end when that goes away later: no other replica would have it', async () => {
    expect((await ready()).status).to.equal(200);
    failure = 'ECONNREFUSED';

    const { status, text } = await ready('?verbose');
    expect(status).to.equal(200);
    expect(text).to.contain('[-]users failed (not critical): ECONNREFUSED').and.to.contain('[-]issuer failed (not critical): away');
  });

  it('S12 names checks to strangers, and withholds reasons', async () => {
    failure = 'not listed yet';
    const unready = await ready('', open);
    expect(unready.status).to.equal(503);
    expect(JSON.parse(unready.text).details.causes).to.deep.equal([{ reason: 'users', message: 'reason withheld' }]);
    expect(unready.text).to.not.contain('not listed yet');

    failure = undefined;
    const { status, text } = await ready('?verbose', open);
    expect(status).to.equal(200);
    expect(text).to.equal('[+]users ok\n[-]issuer failed (not critical): reason withheld\n[+]shutdown ok\nreadyz check passed\n');
  });

  it('begins without it after fifteen seconds', async () => {
    failure = '404 NotFound';
    seconds = 14;
    expect((await ready()).status).to.equal(503);
    seconds = 15;
    expect((await ready()).status).to.equal(200);
  });

  it('ends at the shutdown, while the process is still live', async () => {
    expect((await ready()).status).to.equal(200);
    health.stop();

    expect((await ready()).status).to.equal(503);
    expect((await fetch(`${service.url}/livez`)).status).to.equal(200);
  });
});
