import { Readable } from 'node:stream';
import type { ServiceClient } from '@atrium/kubernetes/own-account.ts';
import { StatusError } from '@atrium/objects/status.ts';
import { expect } from 'chai';
import { measure } from '../../../src/usage/measurements.ts';
import { aPodMetrics } from './metrics-server.ts';

const { signal } = new AbortController();
/** A client whose lists have this body. */
const answering = (...chunks: string[]) =>
  ({
    stream: async () => ({ statusCode: 200, headers: {}, body: Readable.from(chunks.map((text) => Buffer.from(text))) }),
  }) as unknown as ServiceClient;

const pods = Array.from({ length: 3000 }, (_, index) =>
  aPodMetrics('shop', `web-${index}`, { app: 'web' }, { cpu: '100m', memory: '64Mi' }),
);
const list = JSON.stringify({ kind: 'PodMetricsList', apiVersion: 'metrics.k8s.io/v1beta1', metadata: {}, items: pods });

describe('measurements of usage', () => {
  const { parse } = JSON;
  afterEach(() => {
    JSON.parse = parse;
  });

  it('are parsed pod by pod, however long the list is', async () => {
    let longest = 0;
    JSON.parse = (text: string) => {
      longest = Math.max(longest, text.length);
      return parse(text);
    };
    const samples = await measure(answering(list), 'pods', signal);
    expect(samples).to.have.length(pods.length);
    expect(samples.at(-1)).to.deep.equal({ key: 'shop/web-2999', labels: { app: 'web' }, cpu: 0.1, memory: 64 * 1024 ** 2 });
    expect(longest).to.be.within(100, 1000);
  });

  it('let the event loop turn after 250 pods at the latest', async () => {
    let [inTurn, most, turns, isOver] = [0, 0, 0, false];
    JSON.parse = (text: string) => {
      inTurn += 1;
      most = Math.max(most, inTurn);
      return parse(text);
    };
    const turn = () => {
      inTurn = 0;
      turns += 1;
      if (!isOver) setImmediate(turn);
    };
    setImmediate(turn);
    await measure(answering(list), 'pods', signal);
    isOver = true;
    expect(most).to.be.within(1, 250);
    expect(turns).to.be.at.least(pods.length / 250);
  });

  it('fail for an answer that is cut or another object, and for an item without an end', async () => {
    for (const chunks of [[list.slice(0, -2)], ['{"kind":"Status"}'], ['<html>'], ['{"items":[{"a":"', 'x'.repeat(2 * 1024 * 1024)]]) {
      const failure = await measure(answering(...chunks), 'pods', signal).catch((error: unknown) => error);
      expect(failure, chunks[0]?.slice(0, 20)).to.be.instanceOf(StatusError);
      expect((failure as StatusError).status.code).to.equal(503);
    }
  });
});
