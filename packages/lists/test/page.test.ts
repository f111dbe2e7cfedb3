import { Readable } from 'node:stream';
import { Page } from '@atrium/lists/page.ts';
import { expect } from 'chai';

const pageOf = (items: readonly { name: string; text: string }[]) =>
  new Page({
    apiVersion: 'auth.platform.io/v1',
    kind: 'UserList',
    metadata: { resourceVersion: '1', continue: '', remainingItemCount: 0 },
    total: items.length,
    items,
  });

describe('a page that is too long to be held', () => {
  it('is made no faster than the caller reads it', async () => {
    let made = 0;
    const text = JSON.stringify({ text: 'x'.repeat(1000) });
    const items = Array.from({ length: 5000 }, (_, index) => ({
      name: String(index),
      get text() {
        made += 1;
        return text;
      },
    }));
    const page = pageOf(items);
    expect(page.isHeld).to.equal(false);
    const stream = Readable.from(page.chunks({ isIndented: false }), { objectMode: false, highWaterMark: 64 * 1024 });
    const chunks = stream[Symbol.asyncIterator]();

    const first = await chunks.next();
    expect(String(first.value).length).to.be.below(70_000);
    for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(made).to.be.below(500);
    await chunks.return?.();
    for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(made).to.be.below(500);
  });

  it('is the same text as one that is held', async () => {
    const items = Array.from({ length: 1000 }, (_, index) => ({
      name: String(index),
      text: JSON.stringify({ index, deep: [{ a: '"' }] }),
    }));
    const held = pageOf(items);
    expect(held.isHeld).to.equal(true);
    let text = '';
    for await (const chunk of held.chunks({ isIndented: false })) text += chunk;
    expect(text).to.equal(held.bytes.toString());
    let indented = '';
    for await (const chunk of held.chunks({ isIndented: true })) indented += chunk;
    expect(indented).to.equal(`${JSON.stringify(JSON.parse(text), null, 2)}\n`);
  });
});
