/** A replica whose clock is wrong, as the API server's answers show it. */
import { expect } from 'chai';
import { afterEach, describe, it } from 'mocha';
import { eventually } from '../../support/cluster-admin.ts';
import { type FaultyServer, startFaultyServer } from '../../support/faulty-server.ts';

const minuteMs = 60_000;

describe('FLT-12 a clock that differs from the API server’s', () => {
  let server: FaultyServer;
  afterEach(() => server.stop());

  /** The API server's clock is so much behind the one here. */
  const startBehind = async (minutes: number) => {
    server = await startFaultyServer({}, (faults) =>
      faults.inject(({ pass, response }) =>
        pass((answer) => {
          const date = new Date(Date.now() - minutes * minuteMs).toUTCString();
          response.writeHead(answer.statusCode ?? 502, { 'content-type': answer.headers['content-type'], date });
          response.flushHeaders();
          answer.pipe(response);
        }),
      ),
    );
  };
  const report = async () => {
    const response = await server.request('/readyz?verbose');
    return { status: response.status, text: await response.text() };
  };

  for (const [minutes, said] of [
    [3 * 24 * 60, '4320 minutes ahead of'],
    [-20, '20 minutes behind'],
  ] as const)
    it(`is told by readyz, which stays ready: ${said}`, async () => {
      await startBehind(minutes);

      const { status, text } = await eventually(report, (found) => found.text.includes('[-]clock'));

      expect(status).to.equal(200);
      expect(text.split('\n').find((line) => line.includes('clock'))).to.equal(
        `[-]clock failed (not critical): the clock here is ${said} that of kubernetes`,
      );
    });

  it('is nothing to tell where clocks differ as clocks do', async () => {
    await startBehind(2);

    expect((await report()).text).to.include('[+]clock ok');
  });
});
