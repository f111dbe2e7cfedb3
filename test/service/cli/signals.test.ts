import { expect } from 'chai';
import { type SignalledProcess, stopOnSignals } from '../../../src/signals.ts';

describe('the service on signals', () => {
  let listeners: Map<string, () => void>;
  let exits: number[];
  let stops: { drain: boolean }[];
  let now: number;
  let finish: () => void;
  let fail: () => void;

  beforeEach(() => {
    listeners = new Map();
    exits = [];
    stops = [];
    now = 0;
    const process: SignalledProcess = {
      on: (signal, listener) => listeners.set(signal, listener),
      exit: (code) => exits.push(code),
    };
    const stopped = new Promise<void>((resolve, reject) => {
      finish = resolve;
      fail = () => reject(new Error('stuck'));
    });
    stopOnSignals(
      process,
      (options) => {
        stops.push(options);
        return stopped;
      },
      () => now,
    );
  });
  const send = (...signals: string[]) => {
    for (const signal of signals) listeners.get(signal)?.();
  };
  const settled = () => new Promise((resolve) => setImmediate(resolve));

  for (const signal of ['SIGTERM', 'SIGHUP'])
    it(`stops in order on ${signal}, however often it comes, and exits with 0`, async () => {
      send(signal, signal, 'SIGTERM', 'SIGHUP');
      now = 60_000;
      send(signal);
      expect([stops, exits]).to.deep.equal([[{ drain: true }], []]);
      finish();
      await settled();

      expect(exits).to.deep.equal([0]);
    });

  it('takes the two SIGINT of one key press below npm for one, and does not wait for late requests', async () => {
    send('SIGINT');
    now = 5;
    send('SIGINT');
    expect([stops, exits]).to.deep.equal([[{ drain: false }], []]);
    finish();
    await settled();

    expect(exits).to.deep.equal([0]);
  });

  it('exits at once on SIGINT while it is stopping', () => {
    send('SIGTERM', 'SIGINT');
    expect(exits).to.deep.equal([1]);
  });

  it('exits at once on a second key press', () => {
    send('SIGINT');
    now = 1_000;
    send('SIGINT');

    expect(exits).to.deep.equal([1]);
  });

  it('exits with 1 if it cannot stop in order', async () => {
    send('SIGTERM');
    fail();
    await settled();

    expect(exits).to.deep.equal([1]);
  });
});
