import { JsonItems } from '@atrium/kubernetes/json-items.ts';
import { expect } from 'chai';

const items = [{ name: 'zürich 🏔', of: { items: [{ a: 1 }] } }, { text: 'a "quoted" \\ } ] {', list: [[], {}] }, {}, { n: 1.5 }];
const list = { kind: 'List', note: 'items', metadata: { items: [{ not: 'this' }] }, items, after: { items: [{ nor: 'this' }] } };

const itemsIn = (bytes: Buffer, size = bytes.length, max = 1000) => {
  const reader = new JsonItems(max);
  const read: unknown[] = [];
  for (let start = 0; start < bytes.length; start += size) read.push(...reader.push(bytes.subarray(start, start + size)));
  return { read, isComplete: reader.isComplete };
};

describe('items of a JSON list', () => {
  it('are the same however the stream is cut, also within a character or an escape', () => {
    for (const text of [JSON.stringify(list), JSON.stringify(list, null, 2)]) {
      const bytes = Buffer.from(text);
      for (let size = 1; size <= bytes.length; size += 1)
        expect(itemsIn(bytes, size), `chunks of ${size}`).to.deep.equal({ read: items, isComplete: true });
    }
  });

  it('are complete with the end of the list alone', () => {
    const whole = JSON.stringify(list);
    for (const text of [whole.slice(0, -1), '<html>', '[]', '{}', '', '{"items":{"a":{}}}'])
      expect(itemsIn(Buffer.from(text)).isComplete, text).to.equal(false);
    for (const text of ['{"items":[]}', '{"items":null,"kind":"List"}'])
      expect(itemsIn(Buffer.from(text))).to.deep.equal({ read: [], isComplete: true });
  });

  it('are bounded, also before their end has come, and never quoted', () => {
    expect(() => itemsIn(Buffer.from(`{"items":[{"a":"${'x'.repeat(20)}`), 4, 10)).to.throw('longer than 10 bytes');
    expect(() => itemsIn(Buffer.from('{"items":[{"password":s3cret}]}'))).to.throw(/^an item is not JSON$/);
  });
});
