import { SharedValues, textBytes } from '@atrium/http/limits/bounded-cache.ts';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { AnswerCache } from '@atrium/kubernetes/answer-cache.ts';
import { expect } from 'chai';
import { ResourceRow } from '../../../src/listed-resources/row.ts';
import { collectedMemory } from '../../support/collected-memory.ts';

const mebibyte = 1024 * 1024;

describe('caches of texts that callers write', () => {
  it('keep no memory of 100 objects with labels of 1 MiB that are gone', () => {
    const row = (index: number) => {
      const metadata = { name: 'a', uid: `${index}`, resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };
      const labels = { text: `${index}${'x'.repeat(mebibyte)}` };
      return new ResourceRow({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...metadata, labels } }, []);
    };
    row(0);
    const before = collectedMemory().heapUsed;

    for (let index = 1; index <= 100; index += 1) row(index);

    expect(collectedMemory().heapUsed - before).to.be.below(16 * mebibyte);
  });

  it('share equal texts, and bound all of them by their bytes', () => {
    const values = new SharedValues<object>(8 * mebibyte);
    const first = {};
    expect(values.of('a', first)).to.equal(first);
    expect(values.of('a', {})).to.equal(first);

    for (let index = 0; index < 100; index += 1) values.of(`${index}${'x'.repeat(mebibyte)}`, {});
    expect(values.size).to.be.within(1, 4);

    for (let index = 0; index < 100_000; index += 1) values.of(`${index}`, {});
    expect(values.size).to.be.within(8_000, 16_384);
  });

  it('bound answers of the API server by their bytes', async () => {
    const metrics = new Metrics();
    const answers = new AnswerCache<string>({
      name: 'access',
      maxBytes: 8 * mebibyte,
      bytesOf: textBytes,
      lifetimeMs: () => 60_000,
      metrics,
    });
    const signal = new AbortController().signal;

    for (let index = 0; index < 100; index += 1) await answers.get(`${index}`, signal, async () => 'x'.repeat(mebibyte));

    expect(Number(/^atrium_cache_entries\{cache="access"\} (\d+)/m.exec(await metrics.text())?.[1])).to.be.within(1, 4);
  });
});
